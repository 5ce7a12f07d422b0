// pure

/** Values that rarely change, by name, each read again when it is too old. */
export class Held<T> {
  readonly #maxAgeMs: number;
  readonly #now: () => number;
  readonly #values = new Map<string, { readonly at: number; readonly value: T }>();

  constructor(maxAgeMs: number, now: () => number) {
    this.#maxAgeMs = maxAgeMs;
    this.#now = now;
  }

  /** The value of that name. */
  get(name: string, read: () => T): T {
    const known = this.#values.get(name);
    if (known && this.#now() - known.at < this.#maxAgeMs) return known.value;
    const value = read();
    this.#values.set(name, { at: this.#now(), value });
    return value;
  }

  /** The value of that name, as long as it is not too old. */
  known(name: string): T | undefined {
    const known = this.#values.get(name);
    return known && this.#now() - known.at < this.#maxAgeMs ? known.value : undefined;
  }

  /** Takes a new value; one that is known already does not become younger. */
  note(name: string, value: T): void {
    if (this.known(name) !== value) this.#values.set(name, { at: this.#now(), value });
  }

  /** Forgets what is too old. */
  dropOld(): void {
    for (const name of this.#values.keys())
      if (this.known(name) === undefined) this.#values.delete(name);
  }

  /** Forgets all others. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#values.keys()) if (!names.has(name)) this.#values.delete(name);
  }
}

/** The reading end of facts by key: their present values, with a notification of every change. */
export interface ReadingMap<K, V> {
  get(key: K): V | undefined;
  /** All values, in the order in which their keys came. */
  values(): readonly V[];
  /** Calls `onChange` after every change until the returned function is called; `undefined` for a key that went. */
  subscribe(onChange: (key: K, value: V | undefined) => void): () => void;
}

/**
 * Facts by key with exactly one writer, as a `Cell` is one fact: the owner of the map writes, all others
 * read it as a `ReadingMap`. The cost of a change does not grow with the number of keys. Setting a value
 * that is the same notifies no subscriber.
 */
export class CellMap<K, V> implements ReadingMap<K, V> {
  readonly #values = new Map<K, V>();
  readonly #listeners = new Set<(key: K, value: V | undefined) => void>();
  readonly #isSame: (before: V, now: V) => boolean;

  constructor(isSame: (before: V, now: V) => boolean = Object.is) {
    this.#isSame = isSame;
  }

  get(key: K): V | undefined {
    return this.#values.get(key);
  }

  values(): readonly V[] {
    return [...this.#values.values()];
  }

  set(key: K, value: V): void {
    const before = this.#values.get(key);
    if (before !== undefined && this.#isSame(before, value)) return;
    this.#values.set(key, value);
    this.#notify(key, value);
  }

  delete(key: K): void {
    if (this.#values.delete(key)) this.#notify(key, undefined);
  }

  subscribe(onChange: (key: K, value: V | undefined) => void): () => void {
    this.#listeners.add(onChange);
    return () => {
      this.#listeners.delete(onChange);
    };
  }

  #notify(key: K, value: V | undefined): void {
    for (const listener of [...this.#listeners]) listener(key, value);
  }
}

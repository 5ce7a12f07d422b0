/** Moments at which something was first seen, and waiting for them. */
export class Sightings {
  readonly #moments = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  /** Notes the moment (milliseconds of the monotonic clock) of what the key names. */
  note(key: string, at: number): void {
    this.#moments.set(key, at);
    for (const check of this.#waiting) check();
  }

  get(key: string): number | undefined {
    return this.#moments.get(key);
  }

  /** The moments of all keys, in their order; rejects with those that did not come in time. */
  async all(
    keys: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const missing = () => keys.filter((key) => !this.#moments.has(key));
    try {
      await this.#until(() => missing().length === 0, limit);
    } catch (error) {
      throw new Error(`not seen: ${missing().join(", ")}`, { cause: error });
    }
    return keys.flatMap((key) => this.#moments.get(key) ?? []);
  }

  #until(isDone: () => boolean, limit: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        this.#waiting.delete(check);
        limit.removeEventListener("abort", giveUp);
        settle();
      };
      const check = () => {
        if (isDone()) finish(resolve);
      };
      const giveUp = () => finish(() => reject(limit.reason));
      limit.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(check);
      if (limit.aborted) giveUp();
      else check();
    });
  }
}

import type { Clock, MonotonicMs } from "../../kit/clock.ts";

/**
 * The latest result of a measurement. Callers that need it while it is being taken wait for that one, as long as it
 * began recently enough for them.
 */
export class Latest<T> {
  readonly #clock: Clock;
  readonly #measure: () => Promise<T>;
  #run: { readonly beganAt: MonotonicMs; readonly done: Promise<void> } | undefined;
  #value: T | undefined;

  constructor(clock: Clock, measure: () => Promise<T>) {
    this.#clock = clock;
    this.#measure = measure;
  }

  /** The last result; `undefined` before the first. */
  get value(): T | undefined {
    return this.#value;
  }

  /** Measures again unless the last measurement began at most `maxAgeMs` ago. Throws as the measurement does. */
  async refresh(maxAgeMs: number): Promise<void> {
    const now = this.#clock.monotonic();
    if (!this.#run || now - this.#run.beganAt > maxAgeMs)
      this.#run = { beganAt: now, done: this.#take(now) };
    await this.#run.done;
  }

  async #take(beganAt: MonotonicMs): Promise<void> {
    const isLast = () => this.#run === undefined || this.#run.beganAt <= beganAt;
    try {
      const value = await this.#measure();
      // A later measurement may have ended before this one.
      if (isLast()) this.#value = value;
    } catch (error) {
      if (isLast()) this.#run = undefined;
      throw error;
    }
  }
}

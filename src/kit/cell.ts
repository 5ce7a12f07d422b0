/** The reading end of a fact: its present value, with a notification of every change. */
export interface Reading<T> {
  get(): T;
  /** Calls `onChange` after every change until the returned function is called. */
  subscribe(onChange: (value: T) => void): () => void;
}

/**
 * A fact with exactly one writer: the creator of the cell keeps it, all others get it as a
 * `Reading`. Setting an equal value (`Object.is`) notifies no subscriber.
 */
export class Cell<T> implements Reading<T> {
  #value: T;
  readonly #listeners = new Set<(value: T) => void>();

  constructor(initial: T) {
    this.#value = initial;
  }

  get(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(this.#value, value)) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener(value);
  }

  subscribe(onChange: (value: T) => void): () => void {
    this.#listeners.add(onChange);
    return () => {
      this.#listeners.delete(onChange);
    };
  }
}

/** Resolves as soon as `test` holds for the reading's value; rejects when `signal` is aborted. */
export function until<T>(
  reading: Reading<T>,
  test: (value: T) => boolean,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (test(reading.get())) {
      resolve();
      return;
    }
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const done = (finish: () => void) => {
      unsubscribe();
      signal.removeEventListener("abort", onAbort);
      finish();
    };
    const onAbort = () => done(() => reject(signal.reason as Error));
    const unsubscribe = reading.subscribe((value) => {
      if (test(value)) done(resolve);
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

import { InvariantError } from "./errors.ts";
import { Wakeup } from "./loops/wakeup.ts";

/** Bound and sharing rules of a mailbox. */
export interface MailboxOptions<T> {
  /** Most items that may wait at once. One more is a broken promise of the sender, not load to shed. */
  readonly limit: number;
  /** Of items with equal keys only one waits; `undefined` never shares. */
  readonly coalesce?: (item: T) => string | undefined;
  /** Which of two such items waits on; the one that came later by default. */
  readonly choose?: (waiting: T, incoming: T) => T;
}

/**
 * Queue with one consumer: all that arrived since the last read is handed over as one batch, in the
 * order of arrival (a replaced item keeps the place of the latest).
 */
export class Mailbox<T> {
  readonly #options: MailboxOptions<T>;
  #items: T[] = [];
  /** One of the items asks for a batch. */
  #isDue = false;
  readonly #wakeup = new Wakeup();

  constructor(options: MailboxOptions<T>) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#items.length;
  }

  /** With `isQuiet` the item waits for the next one that is not. */
  post(incoming: T, { isQuiet = false }: { readonly isQuiet?: boolean } = {}): void {
    const { coalesce, choose } = this.#options;
    const key = coalesce?.(incoming);
    const at = key === undefined ? -1 : this.#items.findIndex((other) => coalesce?.(other) === key);
    const [waiting] = at < 0 ? [] : this.#items.splice(at, 1);
    const item = waiting === undefined || !choose ? incoming : choose(waiting, incoming);
    if (this.#items.length >= this.#options.limit) {
      throw new InvariantError(`mailbox over its limit of ${this.#options.limit} items`);
    }
    this.#items.push(item);
    if (isQuiet) return;
    this.#isDue = true;
    this.#wakeup.wake();
  }

  /** Yields batches until `signal` is aborted, then ends without throwing. */
  async *batches(signal: AbortSignal): AsyncGenerator<readonly T[], void, void> {
    while (!signal.aborted) {
      if (!this.#isDue) {
        await this.#wakeup.wait(undefined, signal);
        continue;
      }
      this.#isDue = false;
      const batch = this.#items;
      this.#items = [];
      yield batch;
    }
  }
}

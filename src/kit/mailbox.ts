import { InvariantError } from "./errors.ts";
import { Wakeup } from "./loops/wakeup.ts";

/** Bound and sharing rules of a mailbox. */
interface MailboxOptions<T> {
  /** Most items without a key that may wait at once. One more is a broken promise of the sender, not load to shed. */
  readonly limit: number;
  /** Of items with equal keys only one waits, so that there are no more than keys; `undefined` never shares. */
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
  /** Items in order, by their key or by a number of their own. */
  readonly #items = new Map<string | number, T>();
  #withoutKey = 0;
  /** One of the items asks for a batch. */
  #isDue = false;
  readonly #wakeup = new Wakeup();

  constructor(options: MailboxOptions<T>) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#items.size;
  }

  /** With `isQuiet` the item waits for the next one that is not. */
  post(incoming: T, { isQuiet = false }: { readonly isQuiet?: boolean } = {}): void {
    const key = this.#options.coalesce?.(incoming);
    if (key === undefined) this.#add(incoming);
    else this.#replace(key, incoming);
    if (isQuiet) return;
    this.#isDue = true;
    this.#wakeup.wake();
  }

  #add(incoming: T): void {
    const { limit } = this.#options;
    if (this.#withoutKey >= limit) {
      throw new InvariantError(`mailbox over its limit of ${limit} items`);
    }
    this.#items.set(this.#withoutKey, incoming);
    this.#withoutKey += 1;
  }

  #replace(key: string, incoming: T): void {
    const { choose } = this.#options;
    const waiting = this.#items.get(key);
    this.#items.delete(key);
    this.#items.set(key, waiting === undefined || !choose ? incoming : choose(waiting, incoming));
  }

  /** Yields batches until `signal` is aborted, then ends without throwing. */
  async *batches(signal: AbortSignal): AsyncGenerator<readonly T[], void, void> {
    while (!signal.aborted) {
      if (!this.#isDue) {
        await this.#wakeup.wait(undefined, signal);
        continue;
      }
      this.#isDue = false;
      const batch = [...this.#items.values()];
      this.#items.clear();
      this.#withoutKey = 0;
      yield batch;
    }
  }
}

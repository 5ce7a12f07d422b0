import { InvariantError } from "./errors.ts";

/** The writing end of a topic, given to modules that publish. */
export interface Publisher<T> {
  /** Never waits. Throws only what the topic's reader throws, and `InvariantError` over the limit. */
  publish(item: T): void;
}

/** Bound and sharing rule of a topic. */
interface TopicOptions<T> {
  /** Most items that wait for the reader. One more is a broken promise of the publishers. */
  readonly limit: number;
  /** Of items with equal keys only the latest waits; `undefined` never shares. */
  readonly coalesce?: (item: T) => string | undefined;
}

/**
 * Items from many publishers to one reader. It is made before all of them: what is published before the reader
 * has come waits, bounded, and nothing of it is dropped. From then on each item is read at once, in the order of
 * publishing; what is published while an item is read comes after it.
 */
export class Topic<T> implements Publisher<T> {
  readonly #options: TopicOptions<T>;
  /** By key, those that share with no other by a key of their own; oldest first. */
  readonly #waiting = new Map<string | symbol, T>();
  #reader: ((item: T) => void) | undefined;
  #reading = false;

  constructor(options: TopicOptions<T>) {
    this.#options = options;
  }

  /** Items that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  publish(item: T): void {
    const key = this.#options.coalesce?.(item) ?? Symbol("item");
    this.#waiting.delete(key);
    if (this.#waiting.size >= this.#options.limit)
      throw new InvariantError(`topic over its limit of ${this.#options.limit} items`);
    this.#waiting.set(key, item);
    this.#readAll();
  }

  /** Hands every item to `reader` from now on, first those that wait. There is one reader; a second throws. */
  drain(reader: (item: T) => void): void {
    if (this.#reader) throw new InvariantError("a topic has one reader");
    this.#reader = reader;
    this.#readAll();
  }

  /** An item whose reading throws is read; what comes after it is read all the same before that is thrown on. */
  #readAll(): void {
    if (!this.#reader || this.#reading) return;
    this.#reading = true;
    const failures: unknown[] = [];
    try {
      for (const [key, item] of this.#waiting) {
        this.#waiting.delete(key);
        try {
          this.#reader(item);
        } catch (error) {
          failures.push(error);
        }
      }
    } finally {
      this.#reading = false;
    }
    if (failures.length > 0) throw failures[0];
  }
}

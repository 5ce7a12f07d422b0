/** Limits of `FairSlots`. */
export interface FairSlotsOptions {
  /** Held at once, all owners together. */
  readonly total: number;
  /** Held at once by one owner. */
  readonly perOwner: number;
}

interface Waiting {
  readonly grant: () => void;
}

/**
 * A limited number of slots. Who waits is served round robin by owner, so that an owner that asks for
 * many, or holds its slots for long, delays the others by no more than its share.
 */
export class FairSlots {
  readonly #options: FairSlotsOptions;
  /** Owners that wait, in the order of their next turn. */
  readonly #queues = new Map<string, Waiting[]>();
  readonly #held = new Map<string, number>();
  #heldTotal = 0;
  #waiting = 0;

  constructor(options: FairSlotsOptions) {
    this.#options = options;
  }

  get held(): number {
    return this.#heldTotal;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Runs `work` with a slot of `owner`; rejects with the signal's reason when it is aborted before. */
  async run<T>(owner: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#acquire(owner, signal);
    try {
      return await work();
    } finally {
      this.#release(owner);
    }
  }

  #acquire(owner: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const waiting: Waiting = {
        grant: () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      const onAbort = () => {
        this.#leave(owner, waiting);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const queue = this.#queues.get(owner);
      if (queue) queue.push(waiting);
      else this.#queues.set(owner, [waiting]);
      this.#waiting += 1;
      this.#serve();
    });
  }

  #leave(owner: string, waiting: Waiting): void {
    const queue = this.#queues.get(owner);
    const at = queue?.indexOf(waiting) ?? -1;
    if (!queue || at < 0) return;
    queue.splice(at, 1);
    this.#waiting -= 1;
    if (queue.length === 0) this.#queues.delete(owner);
  }

  #release(owner: string): void {
    const left = (this.#held.get(owner) ?? 0) - 1;
    if (left > 0) this.#held.set(owner, left);
    else this.#held.delete(owner);
    this.#heldTotal -= 1;
    this.#serve();
  }

  #serve(): void {
    while (this.#heldTotal < this.#options.total) {
      const owner = this.#nextOwner();
      if (owner === undefined) return;
      const queue = this.#queues.get(owner) ?? [];
      const next = queue.shift();
      // An owner that was served goes behind the others.
      this.#queues.delete(owner);
      if (queue.length > 0) this.#queues.set(owner, queue);
      this.#waiting -= 1;
      this.#held.set(owner, (this.#held.get(owner) ?? 0) + 1);
      this.#heldTotal += 1;
      next?.grant();
    }
  }

  #nextOwner(): string | undefined {
    for (const owner of this.#queues.keys()) {
      if ((this.#held.get(owner) ?? 0) < this.#options.perOwner) return owner;
    }
    return undefined;
  }
}

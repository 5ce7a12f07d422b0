import type { Clock } from "../clock.ts";

/** Those who wait for a slot under one name, as the order of groups sees them. */
interface SlotGroup {
  readonly name: string;
  /** Slots that it holds. */
  readonly held: number;
  /** Rises with every caller; the first that waits in the group. */
  readonly oldest: number;
  /** Rises with every group that is served; the group's place in the round. */
  readonly turn: number;
}

/** Whether a group is served before another one. */
export type SlotOrder = (a: SlotGroup, b: SlotGroup) => boolean;

/** One after the other, so that one that asks for many delays the others by no more than its share. */
export const roundRobin: SlotOrder = (a, b) => a.turn < b.turn;

/** The first in the queue. */
export const firstCome: SlotOrder = (a, b) => a.oldest < b.oldest;

/** Limits of `Slots`. */
interface SlotsOptions {
  /** Held at once, all groups together. */
  readonly total: number;
  /** Held at once by one group; default no limit of its own. */
  readonly perGroup?: number;
  /** Default `firstCome`. Within a group it is always who came first. */
  readonly order?: SlotOrder;
}

/** A slot that is held. */
export interface HeldSlot {
  /** Releases the slot while the work goes on. */
  readonly lend: () => void;
}

/** Runs `act` and releases its slot when that takes longer than `ms`. */
export async function lendAfter<T>(
  slot: HeldSlot,
  { clock, ms }: { readonly clock: Pick<Clock, "alarm">; readonly ms: number },
  act: () => Promise<T>,
): Promise<T> {
  const cancel = clock.alarm(ms, slot.lend);
  try {
    return await act();
  } finally {
    cancel();
  }
}

interface Waiting {
  readonly sequence: number;
  readonly grant: () => void;
}

interface Group {
  readonly name: string;
  held: number;
  turn: number;
  readonly waiting: Waiting[];
}

/** A limited number of slots, for which callers wait in groups. */
export class Slots {
  readonly #total: number;
  readonly #perGroup: number;
  readonly #order: SlotOrder;
  /** Groups that hold or wait for something. */
  readonly #groups = new Map<string, Group>();
  #held = 0;
  #waiting = 0;
  #sequence = 0;
  #onIdle: (() => void)[] = [];

  constructor({ total, perGroup = Number.POSITIVE_INFINITY, order = firstCome }: SlotsOptions) {
    this.#total = total;
    this.#perGroup = perGroup;
    this.#order = order;
  }

  /** Slots that are held. */
  get held(): number {
    return this.#held;
  }

  /** Callers that wait for one. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Runs `work` with a slot; rejects with the signal's reason when it is aborted before there is one. */
  async run<T>(
    group: string,
    signal: AbortSignal,
    work: (slot: HeldSlot) => Promise<T>,
  ): Promise<T> {
    await this.#acquire(group, signal);
    let isHeld = true;
    const release = () => {
      if (isHeld) this.#release(group);
      isHeld = false;
    };
    try {
      signal.throwIfAborted();
      return await work({ lend: release });
    } finally {
      release();
    }
  }

  /** Resolves when nothing is held or waiting. */
  untilIdle(): Promise<void> {
    if (this.#groups.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle.push(resolve);
    });
  }

  #acquire(name: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      this.#sequence += 1;
      const group = this.#groupOf(name);
      const waiting: Waiting = {
        sequence: this.#sequence,
        grant: () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      const onAbort = () => {
        group.waiting.splice(group.waiting.indexOf(waiting), 1);
        this.#waiting -= 1;
        this.#forgetIfUnused(group);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      // A group that begins to wait goes behind those that wait.
      if (group.waiting.length === 0) group.turn = this.#sequence;
      group.waiting.push(waiting);
      this.#waiting += 1;
      this.#serve();
    });
  }

  #groupOf(name: string): Group {
    const known = this.#groups.get(name);
    if (known) return known;
    const group = { name, held: 0, turn: 0, waiting: [] };
    this.#groups.set(name, group);
    return group;
  }

  #release(name: string): void {
    const group = this.#groupOf(name);
    group.held -= 1;
    this.#held -= 1;
    this.#forgetIfUnused(group);
    this.#serve();
  }

  #forgetIfUnused(group: Group): void {
    if (group.held > 0 || group.waiting.length > 0) return;
    this.#groups.delete(group.name);
    if (this.#groups.size > 0) return;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #serve(): void {
    while (this.#held < this.#total) {
      const group = this.#next();
      const next = group?.waiting.shift();
      if (!group || !next) return;
      this.#sequence += 1;
      group.turn = this.#sequence;
      group.held += 1;
      this.#held += 1;
      this.#waiting -= 1;
      next.grant();
    }
  }

  #next(): Group | undefined {
    let best: { readonly group: Group; readonly seen: SlotGroup } | undefined;
    for (const group of this.#groups.values()) {
      const [first] = group.waiting;
      if (!first || group.held >= this.#perGroup) continue;
      const seen = { name: group.name, held: group.held, oldest: first.sequence, turn: group.turn };
      if (!best || this.#order(seen, best.seen)) best = { group, seen };
    }
    return best?.group;
  }
}

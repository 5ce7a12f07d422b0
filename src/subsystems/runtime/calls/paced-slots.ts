import type { Clock, MonotonicMs } from "../../../kit/clock.ts";
import { type HeldSlot, type SlotOrder, Slots } from "../../../kit/limits/slots.ts";
import type { IdleProcessors } from "./idle-processors.ts";

/** Interval of the check whether more calls may begin, while some wait. */
export const PACE_MS = 200;
/** A call that takes longer does not count any more: it hangs, or waits for something else than a processor. */
export const LENT_AFTER_MS = 5_000;

interface Held {
  readonly slot: HeldSlot;
  readonly since: MonotonicMs;
}

interface PacedSlotsOptions {
  readonly order?: SlotOrder;
  readonly clock: Clock;
  readonly processors: IdleProcessors;
}

/**
 * Slots for calls that keep a processor busy each, more or less. While calls wait, another one begins for each processor that
 * is idle, and for each call that takes long: a network plugin that waits for its server, or a few pods whose sandboxes hang, do
 * not hold up the others.
 */
export class PacedSlots {
  readonly #slots: Slots;
  readonly #clock: Clock;
  readonly #processors: IdleProcessors;
  /** Calls that count, the oldest first. */
  readonly #held = new Set<Held>();
  readonly #underWay = new Set<Promise<unknown>>();
  #cancelTick: (() => void) | undefined;

  /** `total`: calls at once while the processors are busy. */
  constructor(total: number, { order, clock, processors }: PacedSlotsOptions) {
    this.#slots = new Slots({ total, ...(order ? { order } : {}) });
    this.#clock = clock;
    this.#processors = processors;
  }

  /** Calls that wait for a slot. */
  get waiting(): number {
    return this.#slots.waiting;
  }

  /** Runs `act` with a slot; rejects with the signal's reason when it is aborted before there is one. */
  async run<T>(group: string, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    const call = this.#slots.run(group, signal, (slot) => this.#hold(slot, act));
    if (this.#slots.waiting > 0 && !this.#cancelTick) {
      this.#processors.idleSinceLast();
      this.#setTick();
    }
    this.#underWay.add(call);
    try {
      return await call;
    } finally {
      this.#underWay.delete(call);
    }
  }

  /** Resolves when nothing waits and no call is under way, also of those that do not count. */
  async untilIdle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** Ends the checks: no more calls begin than there are slots. */
  close(): void {
    this.#cancelTick?.();
    this.#cancelTick = undefined;
  }

  async #hold<T>(slot: HeldSlot, act: () => Promise<T>): Promise<T> {
    const held: Held = { slot, since: this.#clock.monotonic() };
    this.#held.add(held);
    try {
      return await act();
    } finally {
      this.#held.delete(held);
    }
  }

  #setTick(): void {
    this.#cancelTick = this.#clock.alarm(PACE_MS, () => {
      this.#cancelTick = undefined;
      this.#pace();
      if (this.#slots.waiting > 0) this.#setTick();
    });
  }

  #pace(): void {
    const now = this.#clock.monotonic();
    let more = Math.min(Math.round(this.#processors.idleSinceLast()), this.#slots.waiting);
    for (const held of [...this.#held]) {
      if (more <= 0 && now - held.since < LENT_AFTER_MS) return;
      more -= 1;
      this.#held.delete(held);
      held.slot.lend();
    }
  }
}

/**
 * Which pull runs now and which waits. Owns: the queue. Every registry has a lane, so that one that is slow
 * or dead does not delay others; a pull that runs for long lends its place, so that it does not hold up its
 * own lane for ever. Invariants: never more at once than `limit` and the places lent; first come, first
 * served within a lane, and between lanes the one with the fewest pulls goes first.
 */
import type { Clock } from "../../../kit/clock.ts";
import { type HeldSlot, type SlotOrder, Slots } from "../../../kit/limits/slots.ts";

/** Bounds of the lanes. */
export interface LaneOptions {
  /** Pulls at once that count. */
  readonly limit: number;
  /** Pulls at once from one registry that count. */
  readonly perRegistry: number;
}

/** State of a pull. */
export type PullStanding =
  | { readonly kind: "waiting"; readonly ahead: number; readonly registry: string }
  | { readonly kind: "running"; readonly forMs: number; readonly registry: string };

interface Ticket {
  readonly registry: string;
  startedAt: number | undefined;
  lent: boolean;
  /** Lends its place; present once the pull has run for long enough. */
  lend?: () => void;
}

/** A pull that has run for this long lends its place. */
const LENDS_AFTER_MS = 60_000;
/** Places that are lent at most. */
const LENT_PLACES = 16;

const leastLoadedFirst: SlotOrder = (a, b) =>
  a.held === b.held ? a.oldest < b.oldest : a.held < b.held;

/** A pull in its lane. */
export interface PullLane {
  readonly standing: () => PullStanding;
}

/** See the head of this file. */
export class PullLanes {
  readonly #slots: Slots;
  readonly #clock: Clock;
  /** Pulls that wait and run, in the order in which they came. */
  readonly #tickets = new Set<Ticket>();

  constructor({ limit, perRegistry }: LaneOptions, clock: Clock) {
    this.#slots = new Slots({ total: limit, perGroup: perRegistry, order: leastLoadedFirst });
    this.#clock = clock;
  }

  /** Runs `work` when it is its turn; rejects with the signal's reason when it is aborted while waiting. */
  async run<T>(
    registry: string,
    work: () => Promise<T>,
    signal: AbortSignal,
    onLane: (lane: PullLane) => void = () => {},
  ): Promise<T> {
    signal.throwIfAborted();
    const ticket: Ticket = { registry, startedAt: undefined, lent: false };
    this.#tickets.add(ticket);
    onLane({ standing: () => this.#standing(ticket) });
    try {
      return await this.#slots.run(registry, signal, (slot) => this.#start(ticket, slot, work));
    } finally {
      this.#tickets.delete(ticket);
      // One that found all lent places taken gets the one that is free now.
      if (ticket.lent) this.#lendOldest();
    }
  }

  async #start<T>(ticket: Ticket, slot: HeldSlot, work: () => Promise<T>): Promise<T> {
    ticket.startedAt = this.#clock.monotonic();
    const cancel = this.#clock.alarm(LENDS_AFTER_MS, () => {
      ticket.lend = slot.lend;
      this.#lendOldest();
    });
    try {
      return await work();
    } finally {
      cancel();
    }
  }

  /** Lets the first pull that has run for long enough lend its place, unless too many have. */
  #lendOldest(): void {
    const all = [...this.#tickets];
    if (all.filter(({ lent }) => lent).length >= LENT_PLACES) return;
    const oldest = all.find(({ lent, lend }) => !lent && lend);
    if (!oldest) return;
    oldest.lent = true;
    oldest.lend?.();
  }

  #standing(ticket: Ticket): PullStanding {
    const { registry, startedAt } = ticket;
    if (startedAt !== undefined)
      return { kind: "running", forMs: this.#clock.monotonic() - startedAt, registry };
    const all = [...this.#tickets];
    const isBefore = (other: Ticket) =>
      other.registry === registry && (other.startedAt === undefined || !other.lent);
    return {
      kind: "waiting",
      ahead: all.slice(0, all.indexOf(ticket)).filter(isBefore).length,
      registry,
    };
  }
}

/**
 * Which pull runs now and which waits. Owns: the queue. Every registry has a lane, so that one that is slow
 * or dead holds up nobody else; a pull that runs for long lends its place, so that it does not hold up its
 * own lane for ever. Invariants: never more at once than `limit` and the places lent; first come, first
 * served within a lane, and between lanes the one with the fewest pulls goes first.
 */
import type { Clock } from "../../../kit/clock.ts";

/** Bounds of the lanes. */
export interface LaneOptions {
  /** Pulls at once that count. */
  readonly limit: number;
  /** Pulls at once from one registry that count. */
  readonly perRegistry: number;
}

/** Where a pull stands. */
export type PullStanding =
  | { readonly kind: "waiting"; readonly ahead: number; readonly registry: string }
  | { readonly kind: "running"; readonly forMs: number; readonly registry: string };

interface Ticket {
  readonly registry: string;
  readonly start: () => void;
  startedAt: number | undefined;
  lent: boolean;
}

/** A pull that has run for this long lends its place. */
const LENDS_AFTER_MS = 60_000;
/** Places that are lent at most. */
const LENT_PLACES = 16;

/** A pull in its lane. */
export interface Lane {
  readonly standing: () => PullStanding;
}

/** See the head of this file. */
export class PullLanes {
  readonly #options: LaneOptions;
  readonly #clock: Clock;
  #waiting: Ticket[] = [];
  readonly #running = new Set<Ticket>();

  constructor(options: LaneOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Runs `work` when it is its turn; rejects with the signal's reason when it is aborted while waiting. */
  async run<T>(
    registry: string,
    work: () => Promise<T>,
    signal: AbortSignal,
    onLane: (lane: Lane) => void = () => {},
  ): Promise<T> {
    signal.throwIfAborted();
    const ticket = await this.#admitted(registry, signal, onLane);
    const cancel = this.#clock.alarm(LENDS_AFTER_MS, () => {
      const lent = [...this.#running].filter((other) => other.lent).length;
      if (lent >= LENT_PLACES) return;
      ticket.lent = true;
      this.#admit();
    });
    try {
      return await work();
    } finally {
      cancel();
      this.#running.delete(ticket);
      this.#admit();
    }
  }

  #admitted(registry: string, signal: AbortSignal, onLane: (lane: Lane) => void): Promise<Ticket> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((other) => other !== ticket);
        reject(signal.reason as Error);
      };
      const ticket: Ticket = {
        registry,
        startedAt: undefined,
        lent: false,
        start: () => {
          signal.removeEventListener("abort", onAbort);
          resolve(ticket);
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(ticket);
      onLane({ standing: () => this.#standing(ticket) });
      this.#admit();
    });
  }

  #standing(ticket: Ticket): PullStanding {
    const { registry, startedAt } = ticket;
    if (startedAt !== undefined)
      return { kind: "running", forMs: this.#clock.monotonic() - startedAt, registry };
    const before = this.#waiting.slice(0, Math.max(0, this.#waiting.indexOf(ticket)));
    const sameLane = (other: Ticket) => other.registry === registry;
    const running = [...this.#running].filter((other) => sameLane(other) && !other.lent).length;
    return { kind: "waiting", ahead: before.filter(sameLane).length + running, registry };
  }

  #admit(): void {
    for (;;) {
      const next = this.#next();
      if (!next) return;
      this.#waiting = this.#waiting.filter((other) => other !== next);
      next.startedAt = this.#clock.monotonic();
      this.#running.add(next);
      next.start();
    }
  }

  #next(): Ticket | undefined {
    const counted = [...this.#running].filter(({ lent }) => !lent);
    if (counted.length >= this.#options.limit) return undefined;
    const inLane = (registry: string) =>
      counted.filter((other) => other.registry === registry).length;
    let best: { readonly ticket: Ticket; readonly load: number } | undefined;
    for (const ticket of this.#waiting) {
      const load = inLane(ticket.registry);
      if (load >= this.#options.perRegistry) continue;
      if (!best || load < best.load) best = { ticket, load };
    }
    return best?.ticket;
  }
}

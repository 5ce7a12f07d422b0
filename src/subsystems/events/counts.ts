import type { Counter, MetricsRegistry } from "../../kit/metrics.ts";
import type { RefusalReason } from "./event-api.ts";
import type { RecordFault } from "./recorder.ts";

/** Why an event did not reach the API server. */
type DropReason =
  | RecordFault
  | RefusalReason
  /** Its budget was spent. */
  | "filtered"
  /** The queue of the sink was full (`Reference` only). */
  | "queue"
  /** The queue was full while the API server was unreachable. */
  | "waiting"
  /** Too many tries failed. */
  | "retries"
  /** The agent ended first. */
  | "shutdown";

/** See `EventCounts.totals`. */
interface EventTotals {
  readonly recorded: number;
  readonly restored: number;
  readonly sent: number;
  readonly aggregated: number;
  readonly kept: number;
  readonly dropped: number;
}

/**
 * Counts outcomes of recorded events; each event is counted once. `sent`: a write of its own arrived.
 * `aggregated`: a later write took its count along. `kept`: there is no API server to send it to.
 */
export class EventCounts {
  readonly #outcomes: Counter;
  readonly #drops: Counter;
  readonly #missed: Counter;
  readonly #totals = { recorded: 0, restored: 0, sent: 0, aggregated: 0, kept: 0, dropped: 0 };
  readonly #byReason = new Map<DropReason, number>();

  constructor(metrics: MetricsRegistry) {
    this.#outcomes = metrics.counter({
      name: "nodelet_events_total",
      help: "Recorded events, by outcome.",
    });
    this.#drops = metrics.counter({
      name: "nodelet_events_dropped_total",
      help: "Recorded events that did not reach the API server, by reason.",
    });
    this.#missed = metrics.counter({
      name: "nodelet_event_watcher_missed_total",
      help: "Events skipped because a watcher inside the agent was too slow, by watcher.",
    });
  }

  /**
   * Sums since the start. What was recorded or restored from disk is the sum of what was sent, aggregated,
   * kept or dropped and of what still waits.
   */
  get totals(): Readonly<EventTotals> {
    return { ...this.#totals };
  }

  /** Dropped events by reason. */
  get drops(): ReadonlyMap<DropReason, number> {
    return this.#byReason;
  }

  recorded(): void {
    this.#totals.recorded += 1;
  }

  /** An event of a previous run waits again. */
  restored(): void {
    this.#totals.restored += 1;
  }

  settled(outcome: "sent" | "aggregated" | "kept"): void {
    this.#totals[outcome] += 1;
    this.#outcomes.add({ outcome });
  }

  dropped(reason: DropReason): void {
    this.#totals.dropped += 1;
    this.#byReason.set(reason, (this.#byReason.get(reason) ?? 0) + 1);
    this.#outcomes.add({ outcome: "dropped" });
    this.#drops.add({ reason });
  }

  missed(watcher: string): void {
    this.#missed.add({ watcher });
  }
}

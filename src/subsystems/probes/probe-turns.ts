import type { Schedule, ScheduledCall } from "./schedule.ts";
import type { Spread } from "./spread.ts";

/** When one probe takes its turns: once a period, at its place among those of the node. */
export class ProbeTurns {
  readonly #spread: Spread;
  readonly #call: ScheduledCall;
  #dueAt = 0;
  /** The time that is held in the spread, when the coming turn got its time from there. */
  #placedAt: number | undefined;

  constructor(
    { schedule, spread }: { readonly schedule: Schedule; readonly spread: Spread },
    take: () => void,
  ) {
    this.#spread = spread;
    this.#call = schedule.turn(() => {
      this.cancel();
      take();
    });
  }

  /** When the present or coming turn is due. */
  get dueAt(): number {
    return this.#dueAt;
  }

  /** The monotonic time of the coming turn; `undefined` while there is none. */
  get at(): number | undefined {
    return this.#call.at;
  }

  /** Lets the turn come at `at`, or as soon as possible when that has passed. */
  set(at: number): void {
    this.cancel();
    this.#dueAt = at;
    this.#call.set(at);
  }

  cancel(): void {
    this.#call.cancel();
    if (this.#placedAt === undefined) return;
    this.#spread.leave(this.#placedAt);
    this.#placedAt = undefined;
  }

  /** Sets the turn a period after the present one. One of several that were missed is made up for. */
  setNext(now: number, periodMs: number): void {
    const next = this.#dueAt + periodMs;
    if (next <= now) {
      this.set(next + Math.floor((now - next) / periodMs) * periodMs);
      return;
    }
    this.#place(next, periodMs);
  }

  /** Sets the first of the probe's turns after `now`, for one that has left out those since its last: it had nothing to do. */
  resume(now: number, periodMs: number): void {
    const leftOut = Math.max(1, Math.ceil((now - this.#dueAt) / periodMs));
    this.#place(this.#dueAt + leftOut * periodMs, periodMs);
  }

  #place(next: number, periodMs: number): void {
    const placedAt = this.#spread.take(next, periodMs);
    this.set(placedAt);
    this.#placedAt = placedAt;
  }
}

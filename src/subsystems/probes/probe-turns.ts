import type { Schedule, ScheduledCall } from "./schedule.ts";
import { type Spread, slackMsOf } from "./spread.ts";

/** When one probe takes its turns: once a period, at its place among those of the node, or together with another probe. */
export class ProbeTurns {
  readonly #spread: Spread;
  readonly #call: ScheduledCall;
  #leader: ProbeTurns | undefined;
  #dueAt = 0;
  /** The time that is held in the spread, when the coming turn got its time from there. */
  #placedAt: number | undefined;

  constructor(
    { schedule, spread }: { readonly schedule: Schedule; readonly spread: Spread },
    take: () => void,
  ) {
    this.#spread = spread;
    this.#call = schedule.turn(() => this.#come(take));
  }

  /** When the present or coming turn is due. */
  get dueAt(): number {
    return this.#dueAt;
  }

  /** The monotonic time of the coming turn; `undefined` while there is none. */
  get at(): number | undefined {
    return this.#call.at;
  }

  /** From now on takes the turns of `leader`, which is not to follow others, as far as `setNext` allows. */
  follow(leader: ProbeTurns | undefined): void {
    this.#leader = leader;
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

  /**
   * Sets the turn a period after the present one. One of several that were missed is made up for. A coming turn of the leader is
   * taken up to a period later than its own, or while this probe fails, as much later as any turn may be put off. So no failure
   * is counted sooner than after its period, and a container that fails is not probed more seldom.
   */
  setNext(now: number, periodMs: number, { isFailing }: { readonly isFailing: boolean }): void {
    const next = this.#dueAt + periodMs;
    if (next <= now) {
      this.set(next + Math.floor((now - next) / periodMs) * periodMs);
      return;
    }
    this.#place(next, periodMs, isFailing);
  }

  /** Sets the first of the probe's turns after `now`, for one that has left out those since its last: it had nothing to do. */
  resume(now: number, periodMs: number): void {
    const leftOut = Math.max(1, Math.ceil((now - this.#dueAt) / periodMs));
    this.#place(this.#dueAt + leftOut * periodMs, periodMs, false);
  }

  #place(next: number, periodMs: number, isFailing: boolean): void {
    const sharedAt = this.#leaderAfter(next, periodMs);
    if (sharedAt <= next + (isFailing ? slackMsOf(periodMs) : periodMs)) {
      this.set(sharedAt);
      return;
    }
    const placedAt = this.#spread.take(next, periodMs);
    this.set(placedAt);
    this.#placedAt = placedAt;
  }

  /** The leader's first turn at `time` or later, as far as it is known; infinite when there is none. */
  #leaderAfter(time: number, periodMs: number): number {
    const coming = this.#leader?.at ?? Number.POSITIVE_INFINITY;
    return coming < time ? coming + periodMs : coming;
  }

  #come(take: () => void): void {
    const leaderAt = this.#leader?.at;
    if (leaderAt !== undefined && leaderAt <= this.#dueAt) {
      // The leader's turn has come, too. It goes first, so that its next one is known when this probe needs its own.
      this.#call.set(this.#dueAt);
      return;
    }
    this.cancel();
    take();
  }
}

// pure

/**
 * Times are handed out in steps of this; turns that share a step cost the agent one waking, and those after the first find
 * its code in the caches of the CPU. No longer than what a turn of the usual period may be put off.
 */
export const STEP_MS = 50;

/** The share of its period by which one turn may be put off, and the most it may be. */
const SLACK_SHARE = 0.05;
const MAX_SLACK_MS = 500;

/** Milliseconds by which one turn of that period may be put off. */
function slackMsOf(periodMs: number): number {
  return Math.min(periodMs * SLACK_SHARE, MAX_SLACK_MS);
}

/**
 * Keeps turns that come again and again from falling together: each asks for a time and gets that or
 * one slightly later, where fewer turns begin. What began at one instant drifts apart in a few turns. Times
 * fall on whole steps, so that those which do meet come at one instant: one that is further from a step than it may be
 * put off gets there in a few turns. Only a period that is no multiple of the step keeps its own times, where nothing
 * crowds it out.
 */
export class Spread {
  readonly #taken = new Map<number, number>();
  #turnsPerMs = 0;

  /** Times that were taken and not given back. */
  get taken(): number {
    let sum = 0;
    for (const count of this.#taken.values()) sum += count;
    return sum;
  }

  /** Adds (or with a negative count, takes away) what comes again every `periodMs`. */
  expect(periodMs: number, count: 1 | -1): void {
    this.#turnsPerMs = Math.max(0, this.#turnsPerMs + count / periodMs);
  }

  /** The time for a turn that is requested at `at`; give it back with `leave` when it is over or off. */
  take(at: number, periodMs: number): number {
    const slackMs = slackMsOf(periodMs);
    const last = Math.floor((at + slackMs) / STEP_MS);
    const isOnSteps = periodMs % STEP_MS === 0;
    const requested = isOnSteps
      ? Math.min(Math.ceil(at / STEP_MS), last)
      : Math.floor(at / STEP_MS);
    const own = requested * STEP_MS < at;
    // The mean, rounded up, and one more: with a lower capacity than the mean nothing would ever come to rest,
    // and two probes of a pod may as well come together.
    const capacity = Math.floor(this.#turnsPerMs * STEP_MS) + 2;
    let best = requested;
    for (let step = requested; step <= last; step += 1) {
      const count = this.#count(step);
      if (count < capacity) {
        best = step;
        break;
      }
      if (count < this.#count(best)) best = step;
    }
    this.#taken.set(best, this.#count(best) + 1);
    if (best !== requested || !own) return best * STEP_MS;
    return isOnSteps && slackMs < STEP_MS ? at + slackMs : at;
  }

  leave(at: number): void {
    const step = Math.floor(at / STEP_MS);
    const left = this.#count(step) - 1;
    if (left > 0) this.#taken.set(step, left);
    else this.#taken.delete(step);
  }

  #count(step: number): number {
    return this.#taken.get(step) ?? 0;
  }
}

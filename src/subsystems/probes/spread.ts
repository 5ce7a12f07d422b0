// pure

/** Times are handed out in steps of this. */
const BUCKET_MS = 5;

/** The share of its period by which one turn may be put off, and the most it may be. */
const SLACK_SHARE = 0.05;
const MAX_SLACK_MS = 500;

/**
 * Keeps turns that come again and again from falling together: each asks for a time and gets that or
 * one slightly later, where there is room. What began at one instant drifts apart in a few turns, what
 * is alone is never moved.
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

  /** The time for a turn that is wanted at `at`; give it back with `leave` when it is over or off. */
  take(at: number, periodMs: number): number {
    const wanted = Math.floor(at / BUCKET_MS);
    // The mean, rounded up, and one more: with less room than that nothing would ever come to rest.
    const room = Math.floor(this.#turnsPerMs * BUCKET_MS) + 1;
    const slack = Math.floor(Math.min(periodMs * SLACK_SHARE, MAX_SLACK_MS) / BUCKET_MS);
    let best = wanted;
    for (let bucket = wanted; bucket <= wanted + slack; bucket += 1) {
      const count = this.#count(bucket);
      if (count < room) {
        best = bucket;
        break;
      }
      if (count < this.#count(best)) best = bucket;
    }
    this.#taken.set(best, this.#count(best) + 1);
    return best === wanted ? at : best * BUCKET_MS;
  }

  leave(at: number): void {
    const bucket = Math.floor(at / BUCKET_MS);
    const left = this.#count(bucket) - 1;
    if (left > 0) this.#taken.set(bucket, left);
    else this.#taken.delete(bucket);
  }

  #count(bucket: number): number {
    return this.#taken.get(bucket) ?? 0;
  }
}

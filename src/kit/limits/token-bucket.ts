import type { Clock } from "../clock.ts";
import { type Budget, type FullAt, owedMs, reserve, spend } from "./token-budget.ts";

/** So many at once, and so many a second in the long run. */
export interface RateLimit {
  /** 0 or less: no limit. */
  readonly qps: number;
  readonly burst: number;
}

/** A token bucket (client-go flowcontrol.NewTokenBucketRateLimiter). */
export class TokenBucket {
  readonly #budget: Budget | undefined;
  readonly #clock: Clock;
  #fullAt: FullAt;

  constructor({ qps, burst }: RateLimit, clock: Clock) {
    this.#budget = qps > 0 ? { burst, intervalMs: 1000 / qps } : undefined;
    this.#clock = clock;
  }

  /** Takes a token; `false` when there is none. */
  tryTake(): boolean {
    if (!this.#budget) return true;
    const { granted, fullAt } = spend(this.#fullAt, this.#clock.monotonic(), this.#budget);
    this.#fullAt = fullAt;
    return granted;
  }

  /**
   * Resolves with a token. Whoever waits is served in the order of the calls. Rejects with the signal's reason when it
   * is aborted first; the token is there for others then.
   */
  async take(signal: AbortSignal): Promise<void> {
    if (!this.#budget) return;
    const now = this.#clock.monotonic();
    this.#fullAt = reserve(this.#fullAt, now, this.#budget);
    const waitMs = owedMs(this.#fullAt, now, this.#budget);
    if (waitMs <= 0) return;
    try {
      await this.#clock.sleep(waitMs, signal);
    } catch (error) {
      this.#fullAt -= this.#budget.intervalMs;
      throw error;
    }
  }
}

import type { Clock } from "../../kit/clock.ts";

/** What a client may ask for: so many requests at once, and so many a second in the long run. */
export interface RateLimit {
  /** 0 or less: no limit. */
  readonly qps: number;
  readonly burst: number;
}

/** A token bucket whose waiters are served in order (client-go flowcontrol.NewTokenBucketRateLimiter). */
export class RequestBudget {
  readonly #limit: RateLimit;
  readonly #clock: Clock;
  #tokens: number;
  #countedAt: number;

  constructor(limit: RateLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#tokens = limit.burst;
    this.#countedAt = clock.monotonic();
  }

  /** Resolves when one more request may be made; each caller reserves its place when it calls. */
  async take(signal: AbortSignal): Promise<void> {
    const { qps } = this.#limit;
    if (qps <= 0) return;
    this.#refill();
    this.#tokens -= 1;
    if (this.#tokens >= 0) return;
    try {
      await this.#clock.sleep((-this.#tokens * 1000) / qps, signal);
    } catch (error) {
      this.#tokens += 1;
      throw error;
    }
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    const { qps, burst } = this.#limit;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#countedAt) / 1000) * qps);
    this.#countedAt = now;
  }
}

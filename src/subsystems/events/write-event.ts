import type { CoreEvent } from "../../api/generated/types.ts";
import type { Clock } from "../../kit/clock.ts";
import { type Budget, tokenLeftMs } from "./correlate.ts";
import { type EventApi, type EventWrite, isMissing } from "./event-api.ts";

/**
 * Writes one event: a patch for one that was seen before, and where the server has forgotten it, or never
 * had it, the whole event with its count. Resolves with what the server made of it (recordEvent).
 */
export async function writeEvent(
  api: EventApi,
  { event, patch }: EventWrite,
  signal: AbortSignal,
): Promise<CoreEvent> {
  if (patch) {
    const { name = "", namespace = "" } = event.metadata;
    try {
      return await api.patch({ name, namespace }, patch, signal);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  const { resourceVersion: _, ...metadata } = event.metadata;
  return await api.create({ ...event, metadata }, signal);
}

/** How fast events are written (eventRecordQPS, eventBurst). */
export interface WriteRate {
  /** Writes per second; 0 is no limit. */
  readonly qps: number;
  readonly burst: number;
}

/** Lets one write through after the other, as fast as the rate allows. */
export class Pace {
  readonly #budget: Budget | undefined;
  readonly #clock: Clock;
  #fullAt: number | undefined;

  constructor({ qps, burst }: WriteRate, clock: Clock) {
    this.#budget = qps > 0 ? { burst: Math.max(1, burst), intervalMs: 1000 / qps } : undefined;
    this.#clock = clock;
  }

  /** Resolves when the next write may begin; rejects when `signal` is aborted first. */
  async next(signal: AbortSignal): Promise<void> {
    if (!this.#budget) return;
    const waitMs = tokenLeftMs(this.#fullAt, this.#clock.monotonic(), this.#budget);
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
    // A timer may fire a moment early: the token is taken all the same.
    const at = this.#clock.monotonic();
    this.#fullAt = Math.max(this.#fullAt ?? at, at) + this.#budget.intervalMs;
  }
}

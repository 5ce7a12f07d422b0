import type { CoreEvent } from "../../api/generated/types.ts";
import type { Clock } from "../../kit/clock.ts";
import { type RateLimit, TokenBucket } from "../../kit/limits/token-bucket.ts";
import type { Log } from "../../kit/log.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { Random } from "../../kit/random.ts";
import type { Correlator, EventMoment } from "./correlator.ts";
import type { EventCounts } from "./counts.ts";
import { type EventApi, type EventWrite, faultOf, judgeFault } from "./event-api.ts";
import { REFERENCE } from "./policy.ts";
import { writeEvent } from "./write-event.ts";

interface ReferenceSinkDeps {
  readonly api: EventApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly correlator: Correlator;
  readonly moment: () => EventMoment;
  readonly counts: EventCounts;
}

/**
 * The sink as the Go kubelet has it (event.go recordToSink): a queue of 1000 before the correlator, one event
 * after the other, 12 tries for each, and events beyond its queue are lost.
 */
export class ReferenceSink {
  readonly #deps: ReferenceSinkDeps;
  readonly #budget: TokenBucket;
  #queue: CoreEvent[] = [];
  readonly #wakeup = new Wakeup();

  constructor(rate: RateLimit, deps: ReferenceSinkDeps) {
    this.#deps = deps;
    this.#budget = new TokenBucket(rate, deps.clock);
  }

  get waiting(): number {
    return this.#queue.length;
  }

  offer(event: CoreEvent): void {
    if (this.#queue.length >= REFERENCE.queueLength) this.#deps.counts.dropped("queue");
    else this.#queue.push(event);
    this.#wakeup.wake();
  }

  /** Writes until `signal` is aborted; then each event that waits gets one try within `drain`. */
  async run(signal: AbortSignal, drain: AbortSignal): Promise<void> {
    for (;;) {
      const event = this.#queue.shift();
      if (event) await this.#record(event, signal, drain);
      else if (signal.aborted) break;
      else await this.#wakeup.wait(undefined, signal);
    }
  }

  async #record(event: CoreEvent, signal: AbortSignal, drain: AbortSignal): Promise<void> {
    const { correlator, moment, counts, clock, random, log } = this.#deps;
    const { event: counted, patch, filtered } = correlator.correlate(event, moment());
    if (filtered) {
      counts.dropped("filtered");
      return;
    }
    for (let tries = 1; ; tries += 1) {
      if (await this.#try({ event: counted, patch }, drain)) return;
      if (tries >= REFERENCE.tries) {
        log.error("event dropped: too many failed writes", { reason: event.reason });
        counts.dropped("retries");
        return;
      }
      const share = tries === 1 ? random.next() : 1;
      await clock.sleep(REFERENCE.pauseMs * share, signal).catch(() => {});
      if (!signal.aborted) continue;
      log.error("event dropped: the agent is shutting down", { reason: event.reason });
      counts.dropped("shutdown");
      return;
    }
  }

  /** Whether the event is done with: written, or given up. */
  async #try(write: EventWrite, drain: AbortSignal): Promise<boolean> {
    const { api, correlator, counts, log } = this.#deps;
    try {
      await this.#budget.take(drain);
      correlator.update(await writeEvent(api, write, drain));
      counts.settled("sent");
      return true;
    } catch (error) {
      const verdict = judgeFault(faultOf(error), "Reference", false);
      const about = { reason: write.event.reason, error };
      if (verdict.kind !== "drop") {
        log.error("failed to write event; will retry", about);
        return false;
      }
      if (verdict.quiet) log.verbose(5, "API server rejected an event", about);
      else log.error("API server rejected an event", about);
      counts.dropped(verdict.why);
      return true;
    }
  }
}

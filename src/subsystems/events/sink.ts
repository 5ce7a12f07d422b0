import type { CoreEvent } from "../../api/generated/types.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import { type RateLimit, TokenBucket } from "../../kit/limits/token-bucket.ts";
import type { Log } from "../../kit/log.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { Random } from "../../kit/random.ts";
import type { Correlation } from "./correlator.ts";
import type { EventCounts } from "./counts.ts";
import { type EventApi, faultOf, judgeFault } from "./event-api.ts";
import type { EventOutcome } from "./history-lines.ts";
import { MAX_DEFERRED_MS, Outbox, type OutboxEntry } from "./outbox.ts";
import { REFERENCE } from "./policy.ts";
import type { LostEvents, Spool } from "./spool.ts";
import { writeEvent } from "./write-event.ts";

/** Bounds of a sink. */
interface SinkOptions {
  /** How fast events are written (eventRecordQPS, eventBurst). */
  readonly rate: RateLimit;
  readonly waitingEvents: number;
  readonly waitingBytes: number;
}

interface SinkDeps {
  readonly api: EventApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly counts: EventCounts;
  readonly spool: Spool;
  /** Called when an event is spooled to disk, when it arrives afterwards, and when it is lost. */
  readonly onOutcome: (event: CoreEvent, outcome: EventOutcome) => void;
  /** Called once everything has arrived after some waiting events were dropped. */
  readonly onCaughtUp: (lost: LostEvents) => void;
}

/**
 * Events about a start (`deferrable`) are written once no such event was added for this long: on a machine that starts many
 * pods, the API server's work and the agent's for an event would delay the next pod.
 */
const QUIET_MS = 1_000;
/** So few deferred events, of one or two pods, delay no other pod: `kubectl describe` right after the start is to show them. */
const FEW_DEFERRED = 6;
const FEW_QUIET_MS = 200;
const RETRY = { initialMs: 1_000, maxMs: 30_000 };
/** Consecutive failed writes before it is logged again. */
const SAY_EVERY = 20;

/**
 * Writes events to the API server, and keeps those that cannot be written until they can, also through a
 * restart. One worker: order is kept as the outbox has it.
 */
export class Sink {
  readonly #deps: SinkDeps;
  readonly #outbox: Outbox;
  readonly #budget: TokenBucket;
  #lost: LossBook;
  #failures = 0;
  /** When the last deferred event came. */
  #lastDeferred = 0;
  readonly #wakeup = new Wakeup();

  constructor({ rate, waitingEvents, waitingBytes }: SinkOptions, deps: SinkDeps) {
    this.#deps = deps;
    this.#outbox = new Outbox({ maxEvents: waitingEvents, maxBytes: waitingBytes });
    this.#budget = new TokenBucket(rate, deps.clock);
    this.#lost = new LossBook();
  }

  get waiting(): number {
    return this.#outbox.size;
  }

  /** Takes up what a previous run could not send; to be called once before anything else. */
  async open(): Promise<void> {
    const { entries, lost } = await this.#deps.spool.open(this.#outbox, () => this.#lost.summary());
    this.#lost = new LossBook(lost);
    const since = this.#deps.clock.monotonic();
    for (const entry of entries) {
      this.#deps.counts.restored();
      this.#add({ ...entry, since, spooled: true });
    }
  }

  /** Takes an event that is to be written. */
  offer({ event, patch }: Correlation): void {
    const hasDeferred = this.#outbox.deferredSince !== undefined;
    const { deferred } = this.#add({ event, patch, since: this.#deps.clock.monotonic() });
    // The loop waits for the first of them, then checks when the last one came.
    if (!deferred || !hasDeferred) this.#wakeup.wake();
  }

  /**
   * Writes until `signal` is aborted. Then what waits gets one try each within `drain`, until one
   * gets no answer; the rest stays on disk.
   */
  async run(signal: AbortSignal, drain: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      const entry = this.#next();
      if (!entry) {
        await this.#wakeup.wait({ clock, ms: this.#untilReleaseMs() }, signal);
        continue;
      }
      const pauseMs = await this.#write(entry, signal);
      if (pauseMs > 0) await clock.sleep(pauseMs, signal).catch(() => {});
      this.#reportIfCaughtUp();
    }
    this.#releaseAll();
    for (let entry = this.#outbox.take(); entry; entry = this.#outbox.take())
      if ((await this.#write(entry, drain)) > 0 || drain.aborted) break;
  }

  /** Leaves what still waits on disk. */
  close(): Promise<void> {
    return this.#deps.spool.sync(true);
  }

  /**
   * The next event to write. In the quiet those of one object after the other are released, each once nothing else
   * waits: released all at once, hundreds would have to be spooled, and the next step of life would wait for them.
   */
  #next(): OutboxEntry | undefined {
    const outbox = this.#outbox;
    const now = this.#deps.clock.monotonic();
    if (outbox.release(now - MAX_DEFERRED_MS, now)) this.#deps.spool.changed();
    const next = outbox.take();
    if (next || now < this.#quietAt()) return next;
    outbox.releaseOldest(now);
    return outbox.take();
  }

  /** Milliseconds until deferred events are to be released. */
  #untilReleaseMs(): number {
    const since = this.#outbox.deferredSince;
    if (since === undefined) return Number.POSITIVE_INFINITY;
    const at = Math.min(this.#quietAt(), since + MAX_DEFERRED_MS);
    return Math.max(1, at - this.#deps.clock.monotonic());
  }

  /** When deferred events are released, if no other one is added until then. */
  #quietAt(): number {
    const isFew = this.#outbox.deferredCount <= FEW_DEFERRED;
    return this.#lastDeferred + (isFew ? FEW_QUIET_MS : QUIET_MS);
  }

  #releaseAll(): void {
    this.#outbox.release(Number.POSITIVE_INFINITY, this.#deps.clock.monotonic());
  }

  #add(write: Parameters<Outbox["add"]>[0]): OutboxEntry {
    const { counts, spool, onOutcome } = this.#deps;
    const { entry: added, superseded, dropped } = this.#outbox.add(write);
    if (added.deferred) this.#lastDeferred = added.since;
    if (superseded) {
      counts.settled("aggregated");
      if (superseded.spooled) onOutcome(superseded.event, "arrived");
    }
    for (const entry of dropped) {
      counts.dropped("waiting");
      this.#lost.add(entry.event);
      this.#countDropped(entry);
    }
    // While the server is away nothing is deferred, so that it is on disk soon.
    if (this.#failures > 0) this.#releaseAll();
    spool.changed();
    return added;
  }

  /** Milliseconds to pause before the next write. */
  async #write(entry: OutboxEntry, signal: AbortSignal): Promise<number> {
    const { api } = this.#deps;
    const triedBefore = entry.tries > 0 || entry.spooled;
    let isSent = false;
    try {
      await this.#budget.take(signal);
      isSent = true;
      await writeEvent(api, entry, signal);
    } catch (error) {
      if (signal.aborted) {
        // The server may have it.
        if (isSent) entry.tries += 1;
        this.#outbox.settle(entry, false);
        return 1;
      }
      return this.#failed(entry, error, triedBefore);
    }
    this.#recovered();
    this.#arrived(entry);
    return 0;
  }

  /** The server has answered. */
  #recovered(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#deps.log.info("event writes recovered", { waiting: this.#outbox.size });
  }

  #arrived(entry: OutboxEntry): void {
    const { counts, onOutcome, spool } = this.#deps;
    this.#outbox.settle(entry, true);
    counts.settled("sent");
    if (entry.spooled) onOutcome(entry.event, "arrived");
    spool.changed();
  }

  #countDropped({ event, spooled }: OutboxEntry): void {
    this.#deps.onOutcome(event, spooled ? "spooledDropped" : "dropped");
  }

  #failed(entry: OutboxEntry, error: unknown, triedBefore: boolean): number {
    const { counts, spool, log } = this.#deps;
    const fault = faultOf(error);
    const verdict = judgeFault(fault, "Protected", triedBefore);
    const { reason, involvedObject } = entry.event;
    const about = { reason, object: involvedObject.name, error };
    if (verdict.kind !== "retry" && fault.kind === "status") this.#recovered();
    if (verdict.kind === "arrived") {
      this.#arrived(entry);
      return 0;
    }
    entry.tries += 1;
    if (verdict.kind === "drop" || (!verdict.away && entry.tries >= REFERENCE.tries)) {
      const why = verdict.kind === "drop" ? verdict.why : "retries";
      if (verdict.kind === "drop" && verdict.quiet)
        log.verbose(5, "API server rejected an event", about);
      else log.error("API server rejected an event", { ...about, why });
      this.#outbox.settle(entry, true);
      counts.dropped(why);
      this.#countDropped(entry);
      spool.changed();
      return 0;
    }
    this.#failures += 1;
    this.#outbox.settle(entry, false);
    this.#releaseAll();
    spool.changed();
    if (this.#failures % SAY_EVERY === 1)
      log.warn("failed to write events; will retry", { ...about, waiting: this.#outbox.size });
    const { random } = this.#deps;
    const delayMs = retryDelayMs(this.#failures, RETRY);
    // The first pause is random from zero, so that nodes do not come back all at once.
    const spread = this.#failures === 1 ? random.next() : (1 + random.next()) / 2;
    return Math.max(verdict.afterMs ?? 0, delayMs * spread, 1);
  }

  #reportIfCaughtUp(): void {
    const lost = this.#lost.summary();
    if (!lost || this.#outbox.due > 0 || this.#failures > 0) return;
    this.#lost = new LossBook();
    this.#deps.onCaughtUp(lost);
  }
}

/** Reasons that are counted one by one; the others are `others`. */
const REASONS_COUNTED = 20;

/** Events lost since the last summary. */
class LossBook {
  #from: string | undefined;
  #to = "";
  #count = 0;
  readonly #reasons = new Map<string, number>();

  constructor(before?: LostEvents) {
    if (!before) return;
    this.#from = before.from;
    this.#to = before.to;
    this.#count = before.count;
    for (const [reason, count] of before.reasons) this.#reasons.set(reason, count);
  }

  add({ reason = "", lastTimestamp = "" }: CoreEvent): void {
    this.#from ??= lastTimestamp;
    this.#to = lastTimestamp;
    this.#count += 1;
    const known = this.#reasons.has(reason) || this.#reasons.size < REASONS_COUNTED;
    const key = known ? reason : "others";
    this.#reasons.set(key, (this.#reasons.get(key) ?? 0) + 1);
  }

  summary(): LostEvents | undefined {
    if (this.#from === undefined) return undefined;
    const reasons = [...this.#reasons].sort((a, b) => b[1] - a[1]);
    return { from: this.#from, to: this.#to, count: this.#count, reasons };
  }
}

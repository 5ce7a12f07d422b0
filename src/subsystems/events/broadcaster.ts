import type { CoreEvent } from "../../api/generated/types.ts";
import type { Clock } from "../../kit/clock.ts";
import { inParallel } from "../../kit/in-parallel.ts";
import type { Log } from "../../kit/log.ts";
import { NEVER_ABORTED, withTimeout } from "../../kit/within.ts";
import { laneOf } from "./lanes.ts";

/** Called for every event, one after the other; the next one comes when a promise it gave is settled. */
export type EventHandler = (event: CoreEvent) => void | Promise<void>;

/** Bounds of a broadcaster. */
export interface BroadcasterOptions {
  /** Events that may wait to be handed out. */
  readonly inboundLimit: number;
  /** Events that may wait for one watcher. */
  readonly watcherLimit: number;
  /** Whether the last eighth of the queue is kept for steps of life. */
  readonly reservesLane: boolean;
}

interface BroadcasterDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Called for an event that a watcher has lost because it was too slow. */
  readonly onMissed: (watcher: string, event: CoreEvent) => void;
}

/** Outcome of a recorded event. */
export type Published = "queued" | "full" | "closed";

/** Events handed out before others get a turn of the process. */
const SLICE = 512;
/** How long closing waits for slow watchers. */
const CLOSE_WAIT_MS = 5_000;
/** Share of the inbound queue that only steps of life may use. */
const RESERVED_SHARE = 8;

/**
 * Hands every event to every watcher, in the order they were published. Publishing never waits: a full queue
 * loses the event. A watcher sees what is published from the moment it joins until it leaves, has a bounded
 * queue of its own, and by being slow takes nothing from others.
 */
export class Broadcaster {
  readonly #options: BroadcasterOptions;
  readonly #deps: BroadcasterDeps;
  readonly #watchers = new Set<Watcher>();
  #inbound: CoreEvent[] = [];
  /** Events of `#inbound` that were handed out already. */
  #handed = 0;
  #published = 0;
  #pumping = false;
  #closed = false;

  constructor(options: BroadcasterOptions, deps: BroadcasterDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Events that wait to be handed out. */
  get waiting(): number {
    return this.#inbound.length - this.#handed;
  }

  publish(event: CoreEvent): Published {
    if (this.#closed) return "closed";
    if (this.waiting >= this.#limitFor(event)) return "full";
    this.#inbound.push(event);
    this.#published += 1;
    if (!this.#pumping) {
      this.#pumping = true;
      queueMicrotask(() => this.#pump());
    }
    return "queued";
  }

  /** Adds a watcher; the result takes it away, and what still waits for it is forgotten. */
  watch(name: string, handler: EventHandler): () => void {
    const watcher = new Watcher(name, handler, {
      ...this.#deps,
      limit: this.#options.watcherLimit,
      from: this.#published,
    });
    this.#watchers.add(watcher);
    return () => {
      this.#watchers.delete(watcher);
      watcher.leave();
    };
  }

  /** Accepts no more events, delivers those in the queue, and resolves when the watchers are done or their timeout is over. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#handOut(Number.POSITIVE_INFINITY);
    const watchers = [...this.#watchers];
    const timeout = { clock: this.#deps.clock, ms: CLOSE_WAIT_MS };
    await withTimeout(timeout, NEVER_ABORTED, () =>
      inParallel(watchers, watchers.length, (each) => each.drained()),
    );
  }

  #limitFor(event: CoreEvent): number {
    const { inboundLimit, reservesLane } = this.#options;
    const reserved = reservesLane && laneOf(event.reason) === "ordinary";
    return reserved ? inboundLimit - Math.ceil(inboundLimit / RESERVED_SHARE) : inboundLimit;
  }

  #pump(): void {
    this.#handOut(SLICE);
    if (this.waiting > 0) this.#deps.clock.alarm(0, () => this.#pump());
    else this.#pumping = false;
  }

  #handOut(most: number): void {
    const first = this.#published - this.waiting;
    const count = Math.min(most, this.waiting);
    for (let i = 0; i < count; i += 1) {
      const event = this.#inbound[this.#handed];
      this.#handed += 1;
      if (event === undefined) break;
      for (const watcher of this.#watchers) if (first + i >= watcher.from) watcher.offer(event);
    }
    if (this.#handed === this.#inbound.length || this.#handed > this.#options.inboundLimit) {
      this.#inbound = this.#inbound.slice(this.#handed);
      this.#handed = 0;
    }
  }
}

interface WatcherDeps extends BroadcasterDeps {
  readonly limit: number;
  /** Number of the first event that it is to see. */
  readonly from: number;
}

/** One watcher with its queue. Its handler is never called while an earlier call has not settled. */
class Watcher {
  readonly from: number;
  readonly #name: string;
  readonly #handler: EventHandler;
  readonly #deps: WatcherDeps;
  #queue: CoreEvent[] = [];
  #busy: Promise<void> | undefined;
  #left = false;

  constructor(name: string, handler: EventHandler, deps: WatcherDeps) {
    this.#name = name;
    this.#handler = handler;
    this.#deps = deps;
    this.from = deps.from;
  }

  offer(event: CoreEvent): void {
    if (this.#busy === undefined) {
      this.#begin(event);
      return;
    }
    if (this.#queue.length < this.#deps.limit) this.#queue.push(event);
    else this.#deps.onMissed(this.#name, event);
  }

  leave(): void {
    this.#left = true;
    this.#queue = [];
  }

  /** Resolves when nothing waits any more. */
  async drained(): Promise<void> {
    while (this.#busy !== undefined) await this.#busy;
  }

  #begin(event: CoreEvent): void {
    const handling = this.#call(event);
    if (handling !== undefined) this.#busy = this.#drain(handling);
  }

  async #drain(first: Promise<void>): Promise<void> {
    await first;
    for (let next = this.#queue.shift(); next && !this.#left; next = this.#queue.shift())
      await this.#call(next);
    this.#busy = undefined;
  }

  /** The promise to wait for; what a handler throws or rejects with goes to the log. */
  #call(event: CoreEvent): Promise<void> | undefined {
    try {
      return this.#handler(event)?.catch((error: unknown) => this.#failed(error));
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  #failed(error: unknown): void {
    this.#deps.log.error("event watcher failed", {
      watcher: this.#name,
      error,
    });
  }
}

import type { CoreEvent } from "../../api/generated/types.ts";
import type { Lane } from "../../api/reasons.ts";
import { Heap } from "../../kit/health/heap.ts";
import type { EventWrite } from "./event-api.ts";
import { objectKey } from "./event-keys.ts";
import { isDeferrable, laneOf, WORTHS, worthOf } from "./lanes.ts";

/** Bounds of an outbox. */
interface OutboxOptions {
  readonly maxEvents: number;
  readonly maxBytes: number;
}

/** An event that waits to be written. */
export interface OutboxEntry extends EventWrite {
  /** Rises with every entry. */
  readonly order: number;
  /** When it began to wait, or was released if it was deferred; milliseconds of a clock that never steps. */
  since: number;
  readonly lane: Lane;
  /** Waits until it is released. */
  deferred: boolean;
  /** Writes that failed. */
  tries: number;
  /** Whether it is on disk too. */
  spooled: boolean;
}

/** A new entry, and those that it superseded or that were dropped for it. */
interface Added {
  readonly entry: OutboxEntry;
  /** A count that the new one includes. */
  readonly superseded: OutboxEntry | undefined;
  readonly dropped: readonly OutboxEntry[];
}

/** The longest that an event is deferred, however many pods start. */
export const MAX_DEFERRED_MS = 10_000;
/** Entries that may be out of date in `#first`, beside as many as wait, before they are taken out of it. */
const STALE_ENTRIES = 64;
/** Overhead of an entry beside its message. */
const ENTRY_BYTES = 700;

/**
 * The events that wait for the API server, with a bound. What is about one object leaves in the order it
 * came. Steps of life leave first, and take with them what waits about the same object; those of a start
 * are deferred until they are released, or until another event about the object is added. Of several
 * counts of one event only the latest waits. When it is full, entries of the lowest value are dropped, oldest first.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #entries = new Map<number, OutboxEntry>();
  readonly #byWorth: readonly Map<number, OutboxEntry>[] = Array.from(
    { length: WORTHS },
    () => new Map<number, OutboxEntry>(),
  );
  readonly #ordinary = new Map<number, OutboxEntry>();
  /** In order of their time. */
  readonly #deferred = new Map<number, OutboxEntry>();
  /** Entries of `#ordinary` and `#deferred` by what they are about. */
  readonly #matesOf = new Map<string, Set<OutboxEntry>>();
  #first = newFirst();
  readonly #countOf = new Map<string, OutboxEntry>();
  #inFlight: OutboxEntry | undefined;
  #bytes = 0;
  #order = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Entries that may be written: all but the deferred ones. */
  get due(): number {
    return this.#entries.size - this.#deferred.size;
  }

  /** Entries in memory: those that wait, and superseded or dropped ones that are not taken out yet. */
  get retained(): number {
    return this.#first.size + this.#ordinary.size + this.#deferred.size;
  }

  /** How many entries are deferred. */
  get deferredCount(): number {
    return this.#deferred.size;
  }

  /** Since when the oldest deferred entry has been waiting. */
  get deferredSince(): number | undefined {
    const [oldest] = this.#deferred.values();
    return oldest?.since;
  }

  /** In order. */
  entries(): Iterable<OutboxEntry> {
    return this.#entries.values();
  }

  has(order: number): boolean {
    return this.#entries.has(order);
  }

  add(write: EventWrite & Pick<OutboxEntry, "since"> & { readonly spooled?: boolean }): Added {
    this.#order += 1;
    const { event, patch, since, spooled = false } = write;
    const entry: OutboxEntry = {
      order: this.#order,
      event,
      patch,
      since,
      lane: laneOf(event.reason),
      deferred: !patch && !spooled && isDeferrable(event.reason),
      tries: 0,
      spooled,
    };
    const superseded = this.#takeOver(entry);
    this.#insert(entry);
    return { entry, superseded, dropped: this.#dropExcess() };
  }

  /** Lets deferred entries leave that have been waiting since `until` or longer; whether there are any. */
  release(until: number, now: number): boolean {
    const before = this.#deferred.size;
    for (const { since, event } of this.#deferred.values()) {
      if (since > until) break;
      this.#hasten(objectKey(event), now);
    }
    return this.#deferred.size < before;
  }

  /** Lets the oldest deferred entry leave, and what else is deferred about its object. */
  releaseOldest(now: number): void {
    const [oldest] = this.#deferred.values();
    if (oldest) this.#hasten(objectKey(oldest.event), now);
  }

  /** The next to be written, none of the deferred ones; it stays until it is settled. */
  take(): OutboxEntry | undefined {
    for (let next = this.#first.peek(); next; next = this.#first.peek()) {
      if (this.#entries.has(next.order)) {
        this.#inFlight = next;
        return next;
      }
      this.#first.pop();
    }
    const [next] = this.#ordinary.values();
    this.#inFlight = next;
    return next;
  }

  /** The entry that was taken is done with, or has to wait on. */
  settle(entry: OutboxEntry, done: boolean): void {
    this.#inFlight = undefined;
    if (done) this.#remove(entry);
  }

  /** A count of an event takes the place of one that still waits. */
  #takeOver(entry: OutboxEntry): OutboxEntry | undefined {
    if (!entry.patch) return undefined;
    const key = nameKey(entry.event);
    const before = this.#countOf.get(key);
    const superseded = before === this.#inFlight ? undefined : before;
    if (superseded) this.#remove(superseded);
    this.#countOf.set(key, entry);
    return superseded;
  }

  #insert(entry: OutboxEntry): void {
    this.#entries.set(entry.order, entry);
    this.#byWorth[worthOf(entry.event, entry.patch !== undefined)]?.set(entry.order, entry);
    this.#bytes += bytesOf(entry);
    const key = objectKey(entry.event);
    const isStep = entry.lane === "lifecycle";
    if (!entry.deferred && (isStep || this.#hasDeferred(key))) this.#hasten(key, entry.since);
    if (isStep && !entry.deferred) {
      this.#pushFirst(entry);
      return;
    }
    (entry.deferred ? this.#deferred : this.#ordinary).set(entry.order, entry);
    const mates = this.#matesOf.get(key);
    if (mates) mates.add(entry);
    else this.#matesOf.set(key, new Set([entry]));
  }

  #hasDeferred(key: string): boolean {
    for (const { deferred } of this.#matesOf.get(key) ?? []) if (deferred) return true;
    return false;
  }

  /** What waits about the object leaves with the steps of life. */
  #hasten(key: string, now: number): void {
    for (const mate of this.#matesOf.get(key) ?? []) {
      this.#ordinary.delete(mate.order);
      this.#deferred.delete(mate.order);
      if (mate.deferred) mate.since = now;
      mate.deferred = false;
      this.#pushFirst(mate);
    }
    this.#matesOf.delete(key);
  }

  /** While the API server is away nothing leaves at the top, and counts that supersede each other pile up below it. */
  #pushFirst(entry: OutboxEntry): void {
    this.#first.push(entry);
    if (this.#first.size <= 2 * this.#entries.size + STALE_ENTRIES) return;
    const before = this.#first;
    this.#first = newFirst();
    for (let next = before.pop(); next; next = before.pop())
      if (this.#entries.has(next.order)) this.#first.push(next);
  }

  #remove(entry: OutboxEntry): void {
    if (!this.#entries.delete(entry.order)) return;
    this.#bytes -= bytesOf(entry);
    this.#byWorth[worthOf(entry.event, entry.patch !== undefined)]?.delete(entry.order);
    if (this.#countOf.get(nameKey(entry.event)) === entry)
      this.#countOf.delete(nameKey(entry.event));
    if (!this.#ordinary.delete(entry.order) && !this.#deferred.delete(entry.order)) return;
    const key = objectKey(entry.event);
    const mates = this.#matesOf.get(key);
    mates?.delete(entry);
    if (mates?.size === 0) this.#matesOf.delete(key);
  }

  #dropExcess(): readonly OutboxEntry[] {
    const dropped: OutboxEntry[] = [];
    const { maxEvents, maxBytes } = this.#options;
    while (this.#entries.size > maxEvents || this.#bytes > maxBytes) {
      const least = this.#leastWorth();
      if (!least) break;
      this.#remove(least);
      dropped.push(least);
    }
    return dropped;
  }

  #leastWorth(): OutboxEntry | undefined {
    for (const entries of this.#byWorth)
      for (const entry of entries.values()) if (entry !== this.#inFlight) return entry;
    return undefined;
  }
}

function newFirst(): Heap<OutboxEntry> {
  return new Heap((a, b) => a.order < b.order);
}

function nameKey({ metadata }: CoreEvent): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}

function bytesOf({ event }: OutboxEntry): number {
  return ENTRY_BYTES + (event.message?.length ?? 0);
}

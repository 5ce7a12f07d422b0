import type { CoreEvent } from "../../api/generated/types.ts";
import type { Lane } from "../../api/reasons.ts";
import { Heap } from "../../kit/health/heap.ts";
import type { EventWrite } from "./event-api.ts";
import { objectKey } from "./event-keys.ts";
import { laneOf, WORTHS, worthOf } from "./lanes.ts";

/** Bounds of an outbox. */
export interface OutboxOptions {
  readonly maxEvents: number;
  readonly maxBytes: number;
}

/** An event that waits to be written. */
export interface OutboxEntry extends EventWrite {
  /** Rises with every entry. */
  readonly order: number;
  /** When it began to wait; milliseconds of a clock that never steps. */
  readonly since: number;
  readonly lane: Lane;
  /** Writes that failed. */
  tries: number;
  /** Whether it is on disk too. */
  spooled: boolean;
}

/** Entries dropped for a new entry, or superseded by it. */
export interface Displaced {
  /** A count that the new one includes. */
  readonly superseded: OutboxEntry | undefined;
  readonly dropped: readonly OutboxEntry[];
}

/** Overhead of an entry beside its message. */
const ENTRY_BYTES = 700;

/**
 * The events that wait for the API server, with a bound. What is about one object leaves in the order it
 * came. Steps of life leave first, and take with them what waits about the same object. Of several counts
 * of one event only the latest waits. When it is full, entries of the lowest value are dropped, oldest first.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #entries = new Map<number, OutboxEntry>();
  readonly #byWorth: readonly Map<number, OutboxEntry>[] = Array.from(
    { length: WORTHS },
    () => new Map<number, OutboxEntry>(),
  );
  readonly #ordinary = new Map<number, OutboxEntry>();
  /** Entries of `#ordinary` by what they are about. */
  readonly #ordinaryOf = new Map<string, Set<OutboxEntry>>();
  readonly #first = new Heap<OutboxEntry>((a, b) => a.order < b.order);
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

  /** In order. */
  entries(): Iterable<OutboxEntry> {
    return this.#entries.values();
  }

  has(order: number): boolean {
    return this.#entries.has(order);
  }

  add(write: EventWrite & Pick<OutboxEntry, "since"> & { readonly spooled?: boolean }): Displaced {
    this.#order += 1;
    const { event, patch, since, spooled = false } = write;
    const entry: OutboxEntry = {
      order: this.#order,
      event,
      patch,
      since,
      lane: laneOf(event.reason),
      tries: 0,
      spooled,
    };
    const superseded = this.#takeOver(entry);
    this.#insert(entry);
    return { superseded, dropped: this.#dropExcess() };
  }

  /** The next to be written; it stays until it is settled. */
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
    const mates = this.#ordinaryOf.get(key);
    if (entry.lane === "lifecycle") {
      this.#ordinaryOf.delete(key);
      for (const mate of mates ?? []) {
        this.#ordinary.delete(mate.order);
        this.#first.push(mate);
      }
      this.#first.push(entry);
      return;
    }
    this.#ordinary.set(entry.order, entry);
    if (mates) mates.add(entry);
    else this.#ordinaryOf.set(key, new Set([entry]));
  }

  #remove(entry: OutboxEntry): void {
    if (!this.#entries.delete(entry.order)) return;
    this.#bytes -= bytesOf(entry);
    this.#byWorth[worthOf(entry.event, entry.patch !== undefined)]?.delete(entry.order);
    if (this.#countOf.get(nameKey(entry.event)) === entry)
      this.#countOf.delete(nameKey(entry.event));
    if (!this.#ordinary.delete(entry.order)) return;
    const key = objectKey(entry.event);
    const mates = this.#ordinaryOf.get(key);
    mates?.delete(entry);
    if (mates?.size === 0) this.#ordinaryOf.delete(key);
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

function nameKey({ metadata }: CoreEvent): string {
  return `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
}

function bytesOf({ event }: OutboxEntry): number {
  return ENTRY_BYTES + (event.message?.length ?? 0);
}

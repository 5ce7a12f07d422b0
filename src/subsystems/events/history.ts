import { LRUCache } from "lru-cache";
import { withMarks } from "../../api/event-marks.ts";
import type { CoreEvent } from "../../api/generated/types.ts";
import type { Lane } from "../../api/reasons.ts";
import type { Clock } from "../../kit/clock.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import { SegmentLog } from "../../kit/state/segment-log.ts";
import type { StateFiles } from "../../kit/state/state-files.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import type { Correlation } from "./correlator.ts";
import {
  type EventLine,
  type EventOutcome,
  type EventQuery,
  foldEvent,
  foldLine,
  HISTORY_BYTES,
  type HistoryLine,
  type KeptEvent,
  keptKey,
  type LineMark,
  lineKey,
  matchesQuery,
  parseHistoryLine,
} from "./history-lines.ts";
import { laneOf } from "./lanes.ts";

/** Folder and bounds of the history. */
interface HistoryOptions {
  /** Absolute path of the folder; made when missing. */
  readonly folder: string;
  /** Bytes of disk, half of them for steps of life: a probe that fails all day must not push those out. */
  readonly bytes: number;
}

interface HistoryDeps {
  readonly state: StateFiles;
  readonly clock: Clock;
}

/**
 * Events that match in the history of an agent that does not run, with `folder` as its history was given;
 * none where there is no history. Writes nothing.
 */
export function readEventHistory(
  folder: string,
  query: EventQuery,
  deps: HistoryDeps,
): Promise<readonly CoreEvent[]> {
  return new History({ folder, bytes: HISTORY_BYTES }, deps).read(query);
}

const FILE = { name: "event_history", holds: "history of events" } as const;
const isLine = (line: string) => parseHistoryLine(line).length > 0;
/** Events kept in memory. */
const KEPT_EVENTS = 1_000;
/** Segments of each file; the oldest goes as a whole. */
const SEGMENTS = 4;
const SMALLEST_SEGMENT = 4_096;
/** Lines that are read before others get a turn of the process. */
const SLICE = 1_000;

/**
 * The node's own record of events, readable without an API server and after a restart, with what was
 * combined, filtered, is waiting or was lost marked as such. Steps of life have a ring of their own on disk.
 */
export class History {
  readonly #deps: HistoryDeps;
  readonly #rings: Readonly<Record<Lane, Ring>>;
  readonly #kept = new LRUCache<string, KeptEvent>({ max: KEPT_EVENTS });
  #sequence = 0;

  constructor({ folder, bytes }: HistoryOptions, deps: HistoryDeps) {
    this.#deps = deps;
    const segmentBytes = Math.max(SMALLEST_SEGMENT, Math.floor(bytes / 2 / SEGMENTS));
    const common = { folder, segmentBytes, segments: SEGMENTS, file: FILE, isLine };
    const ring = (prefix: string) => new Ring(new SegmentLog({ ...common, prefix }, deps));
    this.#rings = { lifecycle: ring("lifecycle"), ordinary: ring("events") };
  }

  /** Finds what a previous run wrote; to be called once before anything else. */
  async open(): Promise<void> {
    const lines = [
      ...(await this.#rings.lifecycle.log.open()),
      ...(await this.#rings.ordinary.log.open()),
    ].flatMap(parseHistoryLine);
    for (const line of lines.sort((a, b) => a.s - b.s)) {
      this.#sequence = line.s;
      this.#foldAny(line);
    }
  }

  /** Records an event with its outcome; returns its present state. */
  keep(raw: CoreEvent, { event, combined, filtered }: Correlation): KeptEvent {
    // A combined event is kept as recorded; the aggregate is for the API server.
    const shown = combined ? raw : event;
    const key = keptKey(shown);
    const ring = this.#rings[laneOf(shown.reason)];
    const s = this.#nextSequence();
    const t = this.#deps.clock.wall();
    const m = combined || filtered ? { m: markOf(combined, filtered) } : undefined;
    const { count = 1, lastTimestamp = "" } = shown;
    const line: HistoryLine = ring.knows(key)
      ? { s, t, n: key, c: count, l: lastTimestamp, ...m }
      : { s, t, e: shown, ...m };
    ring.append(key, line);
    return this.#fold("e" in line ? line : { s, t, e: shown, ...m });
  }

  /** Keeps what happened to an event on its way. */
  follow(event: CoreEvent, outcome: EventOutcome): void {
    const key = keptKey(event);
    const line: HistoryLine = { s: this.#nextSequence(), n: key, f: outcome };
    this.#rings[laneOf(event.reason)].append(key, line);
    this.#foldAny(line);
  }

  /** The latest events, the one that happened last at the end, marks as annotations. */
  list(): readonly CoreEvent[] {
    return inOrder([...this.#kept.values()]);
  }

  /** All that the disk holds and that match, in the same order. */
  async read(query: EventQuery): Promise<readonly CoreEvent[]> {
    const texts = [
      ...(await this.#rings.lifecycle.log.read()),
      ...(await this.#rings.ordinary.log.read()),
    ];
    const lines: HistoryLine[] = [];
    for (const [at, text] of texts.entries()) {
      appendAll(lines, parseHistoryLine(text));
      if (at % SLICE === SLICE - 1) await this.#breathe();
    }
    lines.sort((a, b) => a.s - b.s);
    const all = new Map<string, KeptEvent>();
    for (const line of lines) {
      const kept = foldLine(all.get(lineKey(line)), line);
      if (kept) all.set(lineKey(line), kept);
    }
    const found = inOrder([...all.values()].filter((kept) => matchesQuery(kept, query)));
    return query.limit === undefined ? found : found.slice(-query.limit);
  }

  /** Writes what waits. */
  async flush(): Promise<void> {
    await this.#rings.lifecycle.log.flush();
    await this.#rings.ordinary.log.flush();
  }

  #fold(line: EventLine): KeptEvent {
    const key = lineKey(line);
    const kept = foldEvent(this.#kept.get(key), line);
    this.#kept.set(key, kept);
    return kept;
  }

  #foldAny(line: HistoryLine): void {
    const key = lineKey(line);
    const kept = foldLine(this.#kept.get(key), line);
    if (kept) this.#kept.set(key, kept);
  }

  #nextSequence(): number {
    this.#sequence += 1;
    return this.#sequence;
  }

  #breathe(): Promise<void> {
    return this.#deps.clock.sleep(0, NEVER_ABORTED);
  }
}

function markOf(combined: boolean, filtered: boolean): LineMark {
  if (!combined) return "f";
  return filtered ? "cf" : "c";
}

/** One of the two files, with the events that its present segment names in full. */
class Ring {
  readonly log: SegmentLog;
  #segment = -1;
  readonly #named = new Set<string>();

  constructor(log: SegmentLog) {
    this.log = log;
  }

  /** Whether the segment that the next line goes into has the event in full. */
  knows(key: string): boolean {
    if (this.log.segment !== this.#segment) {
      this.#segment = this.log.segment;
      this.#named.clear();
    }
    return this.#named.has(key);
  }

  append(key: string, line: HistoryLine): void {
    this.knows(key);
    if ("e" in line) this.#named.add(key);
    this.log.append(JSON.stringify(line));
  }
}

function inOrder(kept: KeptEvent[]): readonly CoreEvent[] {
  return kept
    .sort((a, b) => a.sequence - b.sequence)
    .map(({ event, marks }) => withMarks(event, marks));
}

// pure
/** The history on disk: the contents of a line, and the event that its lines amount to. */
import { type EventMarks, NO_MARKS } from "../../api/event-marks.ts";
import type { CoreEvent } from "../../api/generated/types.ts";

/** Steps of an event's delivery, for the history. */
export type EventOutcome =
  /** It waits on disk. */
  | "spooled"
  /** It has waited on disk, and has arrived or is covered by a later one. */
  | "arrived"
  /** It was lost; `spooledDropped` if it had waited on disk. */
  | "dropped"
  | "spooledDropped";

/**
 * One line. `s` rises with every line of both files. An event stands there in full the first time that a
 * segment speaks of it, afterwards by its name, so that every segment can be read without the others.
 */
export type HistoryLine =
  | EventLine
  | {
      readonly s: number;
      readonly t: number;
      /** `namespace/name`. */
      readonly n: string;
      readonly c: number;
      readonly l: string;
      readonly m?: LineMark;
    }
  | { readonly s: number; readonly n: string; readonly f: EventOutcome };

/** A line with the whole event. */
export interface EventLine {
  readonly s: number;
  /** When it was recorded, Unix milliseconds. */
  readonly t: number;
  readonly e: CoreEvent;
  readonly m?: LineMark;
}

/** `c`ombined, `f`iltered. */
export type LineMark = "c" | "f" | "cf";

/** An event with all that is known of it. */
export interface KeptEvent {
  readonly event: CoreEvent;
  readonly marks: EventMarks;
  /** When it last happened, Unix milliseconds. */
  readonly atMs: number;
  /** Number of the line that last spoke of it happening. */
  readonly sequence: number;
}

/** Key of an event in the history. */
export const keptKey = ({ metadata }: CoreEvent): string =>
  `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;

/** The key a line speaks of. */
export const lineKey = (line: HistoryLine): string => ("e" in line ? keptKey(line.e) : line.n);

/** State after a line; `undefined` when it refers to a dropped event. */
export function foldLine(before: KeptEvent | undefined, line: HistoryLine): KeptEvent | undefined {
  if ("f" in line) return before && { ...before, marks: withOutcome(before.marks, line.f) };
  if ("e" in line) return foldEvent(before, line);
  if (!before) return undefined;
  const marks = withMark(before.marks, line.m);
  const event = { ...before.event, count: line.c, lastTimestamp: line.l };
  return { event, marks, atMs: line.t, sequence: line.s };
}

/** State after a line that holds the whole event. */
export function foldEvent(before: KeptEvent | undefined, line: EventLine): KeptEvent {
  const marks = withMark(before?.marks ?? NO_MARKS, line.m);
  return { event: line.e, marks, atMs: line.t, sequence: line.s };
}

function withMark(marks: EventMarks, mark: LineMark | undefined): EventMarks {
  if (mark === undefined) return marks;
  const filtered = marks.filtered + (mark === "c" ? 0 : 1);
  return { ...marks, combined: marks.combined || mark !== "f", filtered };
}

function withOutcome(marks: EventMarks, outcome: EventOutcome): EventMarks {
  const { spooled, dropped } = marks;
  const less = Math.max(0, spooled - 1);
  switch (outcome) {
    case "spooled":
      return { ...marks, spooled: spooled + 1 };
    case "arrived":
      return { ...marks, spooled: less };
    case "dropped":
      return { ...marks, dropped: dropped + 1 };
    case "spooledDropped":
      return { ...marks, spooled: less, dropped: dropped + 1 };
    default:
      return outcome satisfies never;
  }
}

/** The contents of a line; nothing for a torn or foreign line. */
export function parseHistoryLine(text: string): readonly HistoryLine[] {
  try {
    const value = JSON.parse(text) as { readonly [key: string]: unknown } | null;
    if (typeof value?.["s"] !== "number") return [];
    const event = value["e"] as Partial<CoreEvent> | undefined;
    const isOutcome = typeof value["n"] === "string" && typeof value["f"] === "string";
    const isRepeat = typeof value["n"] === "string" && typeof value["c"] === "number";
    const isEvent =
      typeof event?.metadata?.name === "string" && typeof event.involvedObject === "object";
    const isWhole = isOutcome || ((isRepeat || isEvent) && typeof value["t"] === "number");
    return isWhole ? [value as unknown as HistoryLine] : [];
  } catch {
    return [];
  }
}

/** Bytes of disk for the history by default. */
export const HISTORY_BYTES = 8 * 1024 * 1024;

/** Filter of events; all given criteria must match. */
export interface EventQuery {
  /** E.g. `Pod`. */
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  /** Anything else that must hold. */
  readonly filter?: (event: CoreEvent) => boolean;
  /** Happened at or after this time, Unix milliseconds. */
  readonly sinceMs?: number;
  /** The newest so many. */
  readonly limit?: number;
}

/** Whether an event matches. */
export function matchesQuery({ event, atMs }: KeptEvent, query: EventQuery): boolean {
  const { kind, namespace, name, uid, sinceMs, filter } = query;
  const of = event.involvedObject;
  return (
    (kind === undefined || of.kind === kind) &&
    (namespace === undefined || (of.namespace ?? "") === namespace) &&
    (name === undefined || of.name === name) &&
    (uid === undefined || of.uid === uid) &&
    (sinceMs === undefined || atMs >= sinceMs) &&
    (filter === undefined || filter(event))
  );
}

// pure
import { marksOf } from "../../api/event-marks.ts";
import type { CoreEvent } from "../../api/generated/types.ts";
import { humanDuration } from "../../api/text/human-duration.ts";
import { parseTimestamp } from "../../api/text/timestamps.ts";
import type { Style } from "../text.ts";
import type { Column } from "./table.ts";

/** An event in one line, in the words of `kubectl get events`. */
export interface EventRow {
  readonly event: CoreEvent;
  readonly namespace: string;
  readonly lastSeen: string;
  readonly type: string;
  readonly reason: string;
  /** `pod/web-0`. */
  readonly object: string;
  readonly message: string;
  /** Part of the object, e.g. `spec.containers{web}`. */
  readonly part: string;
  /** `kubelet, edge-1`. */
  readonly source: string;
  readonly firstSeen: string;
  readonly count: string;
  /** Marks of the correlator, e.g. `combined,filtered=3`; empty for most. */
  readonly marks: string;
}

/** When the event last happened, Unix milliseconds. */
export function eventTime(event: CoreEvent): number {
  const { series, lastTimestamp, eventTime: first, firstTimestamp, metadata } = event;
  const text =
    series?.lastObservedTime ??
    lastTimestamp ??
    first ??
    firstTimestamp ??
    metadata.creationTimestamp;
  return (text === undefined ? undefined : parseTimestamp(text)) ?? 0;
}

/** The line of an event at `now`, Unix milliseconds. */
export function eventRow(event: CoreEvent, now: number): EventRow {
  const { involvedObject, count = 1, type = "", reason = "", message = "" } = event;
  const times = event.series?.count ?? count;
  const age = humanDuration(now - eventTime(event));
  const { component = event.reportingComponent ?? "", host = "" } = event.source ?? {};
  const first = parseTimestamp(event.firstTimestamp ?? event.eventTime ?? "");
  return {
    event,
    namespace: event.metadata.namespace ?? "",
    lastSeen: times > 1 ? `${age} (x${times})` : age,
    type,
    reason,
    object: `${(involvedObject.kind ?? "").toLowerCase()}/${involvedObject.name ?? ""}`,
    message,
    part: involvedObject.fieldPath ?? "",
    source: host === "" ? component : `${component}, ${host}`,
    firstSeen: humanDuration(now - (first ?? eventTime(event))),
    count: `${times}`,
    marks: marksOf(event),
  };
}

/** Columns of a table of events. */
export const EVENT_COLUMNS: readonly Column<EventRow>[] = [
  { title: "LAST SEEN", value: ({ lastSeen }) => lastSeen },
  { title: "TYPE", value: ({ type }) => type, style: ({ type }) => eventStyle(type) },
  { title: "REASON", value: ({ reason }) => reason },
  { title: "OBJECT", value: ({ object }) => object },
  { title: "MESSAGE", value: ({ message }) => message },
];

/** Columns of the node's own history; the wide ones are those of `kubectl get events -o wide`. */
export const HISTORY_COLUMNS: readonly Column<EventRow>[] = [
  ...EVENT_COLUMNS.slice(0, -1),
  { title: "SUBOBJECT", value: ({ part }) => part, wide: true },
  { title: "SOURCE", value: ({ source }) => source, wide: true },
  { title: "MARKS", value: ({ marks }) => marks, style: () => "cyan" },
  ...EVENT_COLUMNS.slice(-1),
  { title: "FIRST SEEN", value: ({ firstSeen }) => firstSeen, wide: true },
  { title: "COUNT", value: ({ count }) => count, wide: true },
  { title: "NAME", value: ({ event }) => event.metadata.name ?? "", wide: true },
];

/** Warnings stand out. */
export function eventStyle(type: string): Style | undefined {
  return type === "Warning" ? "yellow" : undefined;
}

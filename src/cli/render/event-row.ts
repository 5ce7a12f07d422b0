// pure
import type { CoreEvent } from "../../api/generated/types.ts";
import { parseTimestamp } from "../../api/timestamps.ts";
import { humanDuration } from "./amounts.ts";
import type { Column } from "./table.ts";
import type { Style } from "./text.ts";

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
  return {
    event,
    namespace: event.metadata.namespace ?? "",
    lastSeen: times > 1 ? `${age} (x${times})` : age,
    type,
    reason,
    object: `${(involvedObject.kind ?? "").toLowerCase()}/${involvedObject.name ?? ""}`,
    message,
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

/** Warnings stand out. */
export function eventStyle(type: string): Style | undefined {
  return type === "Warning" ? "yellow" : undefined;
}

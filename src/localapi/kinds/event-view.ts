// pure
/** Events of `events.k8s.io` are the core group's with other names for some fields. */
import type { CoreEvent, EventsEvent } from "../../api/generated/types.ts";
import type { ApiObject, ObjectDraft } from "../api-object.ts";

function present(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ""),
  );
}

/** A kept event as `events.k8s.io` shows it. */
export function showEvent(kept: ApiObject): ApiObject {
  const event = kept as unknown as CoreEvent;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: kept.metadata,
    ...present({
      action: event.action,
      deprecatedCount: event.count,
      deprecatedFirstTimestamp: event.firstTimestamp,
      deprecatedLastTimestamp: event.lastTimestamp,
      deprecatedSource: event.source,
      note: event.message,
      reason: event.reason,
      regarding: event.involvedObject,
      related: event.related,
      reportingController: event.reportingComponent,
      reportingInstance: event.reportingInstance,
      series: event.series,
      type: event.type,
    }),
    eventTime: event.eventTime ?? null,
  };
}

/** An event of `events.k8s.io` as it is kept. */
export function keepEvent(shown: ObjectDraft): ObjectDraft {
  const event = shown as unknown as EventsEvent;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: shown.metadata,
    ...present({
      action: event.action,
      count: event.deprecatedCount,
      eventTime: event.eventTime,
      firstTimestamp: event.deprecatedFirstTimestamp,
      lastTimestamp: event.deprecatedLastTimestamp,
      message: event.note,
      reason: event.reason,
      related: event.related,
      reportingInstance: event.reportingInstance,
      series: event.series,
      type: event.type,
    }),
    involvedObject: event.regarding ?? {},
    reportingComponent: event.reportingController ?? "",
    source: event.deprecatedSource ?? {},
  };
}

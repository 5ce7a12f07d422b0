// pure
import type { CoreEvent } from "../../api/generated/types.ts";

/** Parts of keys are held apart, so that two different events never share one by where a name ends. */
const SEAM = "\u0000";

/**
 * A number of 53 bits for a text, spread evenly (cyrb53). It stands for messages in keys: these may be long,
 * and a cached key must stay small. Not for anything an attacker must not be able to choose.
 */
export function digest(text: string): number {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}

/** Source and object of an event: source, kind, namespace, name, UID, API version. */
export function objectKey({ source, involvedObject: of }: CoreEvent): string {
  return (
    (source?.component ?? "") +
    SEAM +
    (source?.host ?? "") +
    SEAM +
    (of.kind ?? "") +
    SEAM +
    (of.namespace ?? "") +
    SEAM +
    (of.name ?? "") +
    SEAM +
    (of.uid ?? "") +
    SEAM +
    (of.apiVersion ?? "")
  );
}

/**
 * Events with this key in common are one event with a count (getEventKey). Who knows object and message
 * already may say so.
 */
export function eventKey(
  event: CoreEvent,
  object = objectKey(event),
  message = digest(event.message ?? ""),
): string {
  const { type = "", reason = "", involvedObject } = event;
  const field = involvedObject.fieldPath ?? "";
  return object + SEAM + field + SEAM + type + SEAM + reason + SEAM + message.toString(36);
}

/** Events with this key in common are similar (EventAggregatorByReasonFunc). */
export function similarKey(event: CoreEvent, object = objectKey(event)): string {
  const { type = "", reason = "", reportingComponent = "", reportingInstance = "" } = event;
  const reporter = reportingComponent + SEAM + reportingInstance;
  return object + SEAM + type + SEAM + reason + SEAM + reporter;
}

/** As `similarKey`, and steps of different containers are not similar. */
export function similarKeyByContainer(event: CoreEvent, object = objectKey(event)): string {
  return similarKey(event, object) + SEAM + (event.involvedObject.fieldPath ?? "");
}

/** Events with this key in common share a budget of writes in the Go kubelet (getSpamKey). */
export function spamKey(event: CoreEvent, object = objectKey(event)): string {
  return object + SEAM + (event.type ?? "");
}

/** As `spamKey`, and each reason has its own budget: frequent events do not use up the budget of rare ones. */
export function spamKeyByReason(event: CoreEvent, object = objectKey(event)): string {
  return spamKey(event, object) + SEAM + (event.reason ?? "");
}

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

/** Who says it about which object: source, kind, namespace, name, UID, API version. */
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

/** Events with this key in common are one event with a count (getEventKey). */
export function eventKey(event: CoreEvent): string {
  const { type = "", reason = "", message = "", involvedObject } = event;
  const field = involvedObject.fieldPath ?? "";
  return (
    objectKey(event) +
    SEAM +
    field +
    SEAM +
    type +
    SEAM +
    reason +
    SEAM +
    digest(message).toString(36)
  );
}

/** Events with this key in common are similar (EventAggregatorByReasonFunc). */
export function similarKey(event: CoreEvent): string {
  const { type = "", reason = "", reportingComponent = "", reportingInstance = "" } = event;
  return (
    objectKey(event) +
    SEAM +
    type +
    SEAM +
    reason +
    SEAM +
    reportingComponent +
    SEAM +
    reportingInstance
  );
}

/** Events with this key in common share a budget of writes in the reference (getSpamKey). */
export function spamKey(event: CoreEvent): string {
  return objectKey(event) + SEAM + (event.type ?? "");
}

/** As `spamKey`, and each reason has its own budget: what is said often takes nothing from what is said once. */
export function spamKeyByReason(event: CoreEvent): string {
  return spamKey(event) + SEAM + (event.reason ?? "");
}

/** As `similarKey`, and steps of different containers are not similar. */
export function similarKeyByContainer(event: CoreEvent): string {
  return similarKey(event) + SEAM + (event.involvedObject.fieldPath ?? "");
}

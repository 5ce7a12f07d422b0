// pure
import type { AnnotatedEventText } from "../../api/event-text.ts";
import type { CoreEvent, ObjectMeta, ObjectReference, Pod } from "../../api/generated/types.ts";
import { containerFieldPath, findContainer } from "../../api/pod/pod.ts";
import {
  EVENT_REASONS,
  type EventType,
  isEventReason,
  type ReasonRules,
} from "../../api/reasons.ts";
import { dns1123SubdomainFaults } from "../../api/text/names.ts";

/** The object of an event: a Kubernetes object with apiVersion and kind, or a reference to one. */
export type EventObject =
  | ObjectReference
  | { readonly apiVersion?: string; readonly kind?: string; readonly metadata?: ObjectMeta };

/** The source of an event: the agent on its node. */
export interface EventSourceName {
  readonly component: string;
  readonly host: string;
}

/** The time of an event, and what makes its name unique. */
interface EventStamp {
  /** RFC 3339. */
  readonly time: string;
  /** Nanoseconds since the epoch in hex, never the same twice. */
  readonly nanosHex: string;
  /** Made only when the object's name cannot begin the name of an event. */
  readonly uuid: () => string;
}

/**
 * The reference to an object; a reference stays what it is. `undefined` when the object does not say what
 * it is (reference.GetReference).
 */
export function referenceTo(object: EventObject): ObjectReference | undefined {
  if (!("metadata" in object)) return object;
  const { apiVersion, kind, metadata = {} } = object;
  if (apiVersion === undefined || kind === undefined) return undefined;
  return { kind, apiVersion, ...namesOf(metadata) };
}

/** The reference to a pod. */
export function podReference(pod: Pod): ObjectReference {
  return { kind: "Pod", apiVersion: "v1", ...namesOf(pod.metadata ?? {}) };
}

/**
 * The reference to a container of a pod. `undefined` for a container that the pod's spec does not name:
 * about those the Go kubelet records none either (FilterEventRecorder).
 */
export function containerReference(pod: Pod, container: string): ObjectReference | undefined {
  const placed = findContainer(pod, container);
  return placed && { ...podReference(pod), fieldPath: containerFieldPath(placed) };
}

/** The reference to a node in an event with this reason; `uid`: of its object, once that is known. */
export function nodeReference(
  name: string,
  reason: string,
  uid: string | undefined,
): ObjectReference {
  const isBare = uid === undefined || hasBareNode(reason);
  return { kind: "Node", apiVersion: "v1", name, ...(isBare ? {} : { uid }) };
}

function hasBareNode(reason: string): boolean {
  const rules: ReasonRules | undefined = isEventReason(reason) ? EVENT_REASONS[reason] : undefined;
  return rules?.withoutNodeUid === true;
}

function namesOf({ name, namespace, uid, resourceVersion }: ObjectMeta): ObjectReference {
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** Whether a text is one of the two types there are. */
export function isEventType(text: string): text is EventType {
  return text === "Normal" || text === "Warning";
}

/** Objects without a namespace are spoken of in this one. */
const DEFAULT_NAMESPACE = "default";

/** The event about an object (makeEvent, GenerateEventName). */
export function makeEvent(
  object: ObjectReference,
  text: AnnotatedEventText,
  source: EventSourceName,
  stamp: EventStamp,
): CoreEvent {
  const { type, reason, message, annotations } = text;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: {
      name: nameOf(object.name ?? "", stamp),
      namespace: object.namespace || DEFAULT_NAMESPACE,
      ...(annotations === undefined ? {} : { annotations }),
    },
    involvedObject: object,
    reason,
    message,
    source: { component: source.component, host: source.host },
    firstTimestamp: stamp.time,
    lastTimestamp: stamp.time,
    count: 1,
    type,
    reportingComponent: source.component,
    reportingInstance: source.host,
  };
}

function nameOf(objectName: string, { nanosHex, uuid }: EventStamp): string {
  const name = `${objectName}.${nanosHex}`;
  return dns1123SubdomainFaults(name).length === 0 ? name : uuid();
}

/** A random UUID (version 4) of 16 bytes in hex. */
export function uuidFrom(hex: string): string {
  const variant = ((Number.parseInt(hex[16] ?? "0", 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}

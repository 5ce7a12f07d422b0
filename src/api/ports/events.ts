// pure
import type { AnnotatedEventText, EventText, PodEventText } from "../event-text.ts";
import type { ObjectReference } from "../generated/types.ts";
import type { IdentifiedPod } from "../pod-identity.ts";

/** Records events about pods; never waits, never throws. */
export interface PodEvents {
  /** About the pod, or one of its containers; ignored for a container that its spec does not name. */
  ofPod(pod: IdentifiedPod, event: PodEventText, container?: string): void;
}

/** Records events about the node; never waits, never throws. */
export interface NodeEvents {
  ofNode(event: EventText): void;
}

/** Records events about any other object; never waits, never throws. */
export interface ObjectEvents {
  ofObject(object: ObjectReference, event: AnnotatedEventText): void;
}

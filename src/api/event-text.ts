// pure
import type { EventType } from "./reasons.ts";

/** Type, reason and message of an event, of whatever object. */
export interface EventText<Reason extends string = string, Type extends EventType = EventType> {
  readonly type: Type;
  /** The Go kubelet's where it has one for the case, see `EVENT_REASONS`. */
  readonly reason: Reason;
  readonly message: string;
}

/** An event that may carry annotations. */
export interface AnnotatedEventText extends EventText {
  readonly annotations?: Readonly<Record<string, string>>;
}

/** An event about a pod or one of its containers. */
export interface PodEventText extends AnnotatedEventText {
  /** Id of the container; where the message contains it, the container's name is put in its place. */
  readonly containerId?: string;
}

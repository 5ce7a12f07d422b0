// pure
/**
 * Correlates an event with those before it, in the order aggregate, observe, filter
 * (client-go tools/record events_cache.go). Each step takes what was remembered and the present time, and
 * gives what to remember; `correlator.ts` holds the memory.
 */
import type { CoreEvent } from "../../api/generated/types.ts";

/** State of a group of similar events. */
export interface Similar {
  /** Digests of the messages seen, fewer than the limit. */
  readonly messages: readonly number[];
  /** When the last of them came; milliseconds of a clock that never steps. */
  readonly lastAt: number;
}

/** When similar events become one. */
export interface SimilarLimits {
  /** So many different messages are too many. */
  readonly messages: number;
  /** Similar events are forgotten when none came for longer than this. */
  readonly intervalMs: number;
}

/** Whether the event has to be combined with similar ones, and what to remember of it. */
export function combineSimilar(
  before: Similar | undefined,
  message: number,
  at: number,
  limits: SimilarLimits,
): { readonly combine: boolean; readonly record: Similar } {
  const known = before && at - before.lastAt <= limits.intervalMs ? before.messages : [];
  if (known.includes(message)) return { combine: false, record: { messages: known, lastAt: at } };
  // The Go kubelet forgets any one message of a full set. We forget the new one: messages that have an
  // event of their own go on being counted there.
  if (known.length + 1 >= limits.messages)
    return { combine: true, record: { messages: known, lastAt: at } };
  return { combine: false, record: { messages: [...known, message], lastAt: at } };
}

/** Makes the message of an event that stands for similar ones. */
export function combinedMessage(event: CoreEvent): string {
  return `(combined from similar events): ${event.message ?? ""}`;
}

/** The event that stands for similar ones; annotations and reporting fields are not carried over. */
export function combine(
  event: CoreEvent,
  as: { readonly name: string; readonly time: string; readonly message: string },
): CoreEvent {
  const { apiVersion, kind, metadata, involvedObject, reason, source, type } = event;
  const { name, time, message } = as;
  const namespace = metadata.namespace;
  return {
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(kind === undefined ? {} : { kind }),
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    involvedObject,
    ...(reason === undefined ? {} : { reason }),
    message,
    ...(source === undefined ? {} : { source }),
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    ...(type === undefined ? {} : { type }),
  };
}

/** State of an event already seen. */
export interface SeenEvent {
  readonly count: number;
  readonly name: string;
  readonly firstTimestamp: string | undefined;
  readonly resourceVersion: string | undefined;
}

/** The change that a repeated event makes, as a strategic merge patch; keys in the order of their names. */
export interface EventPatch {
  readonly count: number;
  readonly lastTimestamp?: string;
  readonly message?: string;
}

/** The event as it is now and what to remember of it; with a patch when it was seen before. */
export function observe(
  before: SeenEvent | undefined,
  event: CoreEvent,
): {
  readonly event: CoreEvent;
  readonly patch: EventPatch | undefined;
  readonly record: SeenEvent;
} {
  if (before === undefined || before.count <= 0)
    return { event, patch: undefined, record: observationOf(event) };
  const { name, firstTimestamp = event.firstTimestamp, resourceVersion } = before;
  const metadata = { ...event.metadata, name };
  const now: CoreEvent = {
    ...event,
    metadata: resourceVersion === undefined ? metadata : { ...metadata, resourceVersion },
    ...(firstTimestamp === undefined ? {} : { firstTimestamp }),
    count: before.count + 1,
  };
  return { event: now, patch: patchOf(now), record: observationOf(now) };
}

/** State of an event in the API server. */
export function observationOf({ metadata, count = 0, firstTimestamp }: CoreEvent): SeenEvent {
  const { name = "", resourceVersion } = metadata;
  return { count, name, firstTimestamp, resourceVersion };
}

/** Count, time and message as a patch, whatever the API server has. */
export function patchOf({ count = 0, lastTimestamp, message = "" }: CoreEvent): EventPatch {
  return {
    count,
    ...(lastTimestamp === undefined ? {} : { lastTimestamp }),
    ...(message === "" ? {} : { message }),
  };
}

// pure
import type { Pod, PodStatus } from "../../../api/generated/types.ts";
import { isEndedByShutdown } from "../../../api/node/node-shutdown.ts";
import { isTerminalPhase } from "../../../api/pod/pod.ts";
import type { PodOrigin, TerminationCause } from "./record.ts";

/**
 * Whether the status published in a previous run says that the pod has run its course, or was being evicted. A
 * manifest that was only refused is judged again: such a status shows no containers.
 */
export function hasEnded(source: PodOrigin, published: PodStatus | undefined): boolean {
  if (source === "api" && published?.reason === EVICTED) return true;
  if (!isTerminalPhase(published?.phase) || startsAfterShutdown(source, published)) return false;
  return source === "api" || published?.containerStatuses !== undefined;
}

/**
 * Whether a shutdown of the machine has ended the pod, and it runs again after that: a static one, which nobody else
 * would make again. Of a pod of the API its controller makes another one.
 */
function startsAfterShutdown(source: PodOrigin, published: PodStatus | undefined): boolean {
  return source !== "api" && isEndedByShutdown(published);
}

const EVICTED = "Evicted";
/** Prefixes of eviction messages where the pod was not at fault (DisruptionTarget). */
const FOR_THE_NODE = "The node was low on resource: ";

/** Why it is terminated again after a restart of the agent: the reason of its status stays. */
export function causeOf({ metadata }: Pod, published: PodStatus | undefined): TerminationCause {
  const { phase, reason = "", message = "" } = published ?? {};
  if (reason === EVICTED || (phase === "Failed" && reason !== "")) {
    const isForTheNode =
      (reason === EVICTED && message.startsWith(FOR_THE_NODE)) || isEndedByShutdown(published);
    return { kind: "evicted", reason, message, ...(isForTheNode ? { disruption: message } : {}) };
  }
  return { kind: metadata?.deletionTimestamp === undefined ? "completed" : "deleted" };
}

// pure
import type { Pod, PodStatus } from "../../api/generated/types.ts";
import { isTerminalPhase } from "../../api/pod/pod.ts";
import type { PodOrigin, TerminationCause } from "./record.ts";

/**
 * Whether the status published in a previous run says that the pod has run its course, or was being evicted. A
 * manifest that was only refused is judged again: such a status shows no containers.
 */
export function hasEnded(source: PodOrigin, published: PodStatus | undefined): boolean {
  if (source === "api" && published?.reason === EVICTED) return true;
  if (!isTerminalPhase(published?.phase)) return false;
  return source === "api" || published?.containerStatuses !== undefined;
}

const EVICTED = "Evicted";
/** Prefixes of eviction messages where the pod was not at fault (DisruptionTarget). */
const FOR_THE_NODE = "The node was low on resource: ";

/** Why it is terminated again after a restart of the agent: the reason of its status stays. */
export function causeOf({ metadata }: Pod, published: PodStatus | undefined): TerminationCause {
  const { phase, reason = "", message = "" } = published ?? {};
  if (reason === EVICTED || (phase === "Failed" && reason !== "")) {
    const isForTheNode = reason === EVICTED && message.startsWith(FOR_THE_NODE);
    return { kind: "evicted", reason, message, ...(isForTheNode ? { disruption: message } : {}) };
  }
  return { kind: metadata?.deletionTimestamp === undefined ? "completed" : "deleted" };
}

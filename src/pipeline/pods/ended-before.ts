// pure
import type { Pod, PodStatus } from "../../api/generated/types.ts";
import { isTerminalPhase } from "../../api/pod.ts";
import type { PodSource, TerminationCause } from "./record.ts";

/**
 * Whether the status published in an earlier life says that the pod has run its course. A manifest that was
 * only refused is judged anew: such a status shows no containers.
 */
export function hasEnded(source: PodSource, published: PodStatus | undefined): boolean {
  if (!isTerminalPhase(published?.phase)) return false;
  return source === "api" || published?.containerStatuses !== undefined;
}

/** Why it is ended again after a restart of the agent: what its status said of it stays. */
export function causeOf({ metadata }: Pod, published: PodStatus | undefined): TerminationCause {
  const { phase, reason = "", message = "" } = published ?? {};
  if (phase === "Failed" && reason !== "") return { kind: "evicted", reason, message };
  return { kind: metadata?.deletionTimestamp === undefined ? "completed" : "deleted" };
}

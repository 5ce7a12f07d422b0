// pure
/** Pods that the API has and the agent has not: what keeps each of them off this node. */
import type { DecisionRecord } from "../../api/decisions.ts";
import type { Pod } from "../../api/generated/types.ts";
import type { Blocked, ShownPod } from "../../api/pod/shown-pod.ts";
import { parseTimestamp } from "../../api/text/timestamps.ts";
import { listed, sentence } from "./phrases.ts";
import { type HistoryStep, storyOf } from "./why.ts";

const DEFAULT_SCHEDULER = "default-scheduler";

/** Why a pod of the API is not on the node of that name. */
export function offNodeReason({ metadata, spec, status }: Pod, node: string): Blocked {
  const assigned = spec?.nodeName ?? "";
  if (assigned === node)
    return {
      reason: "NotReceived",
      message: "it is assigned to this node, and the agent has not received it from the API yet",
    };
  if (assigned !== "")
    return { reason: "AnotherNode", message: `it is assigned to node ${assigned}` };
  if (metadata?.deletionTimestamp !== undefined) {
    const held = metadata.finalizers ?? [];
    const why = held.length === 0 ? "" : `; it waits for its finalizers: ${listed(held)}`;
    return { reason: "Deleted", message: `it was deleted before it was assigned to a node${why}` };
  }
  const gates = spec?.schedulingGates ?? [];
  if (gates.length > 0)
    return {
      reason: "SchedulingGated",
      message: `its scheduling gates are not removed yet: ${listed(gates.map(({ name }) => name))}`,
    };
  const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (condition?.status === "False" && condition.message)
    return { reason: condition.reason ?? "Unschedulable", message: condition.message };
  const scheduler = spec?.schedulerName ?? DEFAULT_SCHEDULER;
  return { reason: "Unscheduled", message: `scheduler ${scheduler} has not assigned it to a node` };
}

/** The decisions as steps, and after them what keeps a pod off the node that only the API has. */
export function stepsOf(history: {
  readonly decisions: readonly DecisionRecord[];
  readonly pod: ShownPod | undefined;
  readonly isOffNode: boolean;
}): readonly HistoryStep[] {
  const { decisions, pod, isOffNode } = history;
  const steps = storyOf(decisions);
  return isOffNode && pod ? [...steps, offNodeStep(pod)] : steps;
}

/** Times are those of the pod's object. */
function offNodeStep({ metadata, status, blocked }: ShownPod): HistoryStep {
  const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
  const since = condition?.lastTransitionTime ?? metadata?.creationTimestamp ?? "";
  const isElsewhere = blocked?.reason === "AnotherNode";
  const head = isElsewhere ? "Not on this node" : "Not on the node yet";
  return {
    atMs: parseTimestamp(since) ?? 0,
    kind: "offNode",
    title: isElsewhere ? "elsewhere" : "waiting",
    text: sentence(`${head}: ${blocked?.message ?? ""}`),
    times: 1,
    uid: metadata?.uid,
    hasOutcome: false,
  };
}

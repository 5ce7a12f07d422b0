// pure
import type { Pod } from "../api/generated/types.ts";
import { isTerminalPhase, podDisplayName } from "../api/pod/pod.ts";
import type { NodeSummary } from "./tables/node-summary.ts";
import { podRow } from "./tables/pod-row.ts";

/** Whether a pod serves. */
export function isReady(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ??
    false
  );
}

/**
 * Texts about node and pods that are not ready yet; empty when all are. A pod is ready in this sense
 * when it is ready or has succeeded.
 */
export function notReadyYet(
  node: NodeSummary | undefined,
  pods: readonly Pod[],
  now: number,
): readonly string[] {
  if (node === undefined) return ["the agent does not answer"];
  const waiting = pods.filter((pod) => !isReady(pod) && pod.status?.phase !== "Succeeded");
  return [
    ...(node.ready
      ? []
      : [`node ${node.name} is not ready${node.why === "" ? "" : `: ${node.why}`}`]),
    ...node.problems,
    ...waiting.map((pod) => {
      const { status, why } = podRow(pod, now);
      const reason = isTerminalPhase(pod.status?.phase) ? "has failed" : `is ${status}`;
      return `pod ${podDisplayName(pod)} ${reason}${why === "" ? "" : `: ${why}`}`;
    }),
  ];
}

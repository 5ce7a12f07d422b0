// pure

import type { Node, Pod, Taint, Toleration } from "../../api/generated/types.ts";
import { tolerates } from "../../api/node/taints.ts";
import { asScheduled } from "../../api/pod/allocation.ts";
import { isTerminalPhase } from "../../api/pod/pod.ts";
import {
  podResources,
  type ResourceAmounts,
  resourceAmounts,
} from "../../api/pod/pod-resources.ts";
import { UsageError } from "../../kit/errors.ts";

/** Where a pod can go, or why it can go nowhere. */
export type Placement =
  | { readonly kind: "node"; readonly name: string }
  | { readonly kind: "nowhere"; readonly why: string };

/** A node with the pods that are on it. */
export interface Candidate {
  readonly node: Node;
  readonly pods: readonly Pod[];
}

/** Finds a node for a pod; the reasons against each are summed up as the scheduler words them. */
export function choosePlacement(pod: Pod, candidates: readonly Candidate[]): Placement {
  const against = new Map<string, number>();
  for (const candidate of candidates) {
    const why = obstacle(pod, candidate);
    if (why === undefined) return { kind: "node", name: candidate.node.metadata?.name ?? "" };
    against.set(why, (against.get(why) ?? 0) + 1);
  }
  if (candidates.length === 0)
    return { kind: "nowhere", why: "no nodes available to schedule pods" };
  const reasons = [...against].map(([why, count]) => `${count} ${why}`);
  return {
    kind: "nowhere",
    why: `0/${candidates.length} nodes are available: ${reasons.toSorted().join(", ")}.`,
  };
}

function obstacle(pod: Pod, { node, pods }: Candidate): string | undefined {
  const tolerations = pod.spec?.tolerations ?? [];
  if (node.spec?.unschedulable === true && !toleratesUnschedulable(tolerations))
    return "node(s) were unschedulable";
  const labels = node.metadata?.labels ?? {};
  const wanted = Object.entries(pod.spec?.nodeSelector ?? {});
  if (wanted.some(([key, value]) => labels[key] !== value))
    return "node(s) didn't match Pod's node affinity/selector";
  const taint = (node.spec?.taints ?? []).find(
    (each) =>
      each.effect !== "PreferNoSchedule" && !tolerations.some((own) => tolerates(own, each)),
  );
  if (taint) return `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`;
  return lacking(pod, node, pods);
}

const UNSCHEDULABLE: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

const toleratesUnschedulable = (tolerations: readonly Toleration[]): boolean =>
  tolerations.some((own) => tolerates(own, UNSCHEDULABLE));

/** What a pod on the node asks for; one whose amounts cannot be read must not keep all others away. */
function requestsOf(pod: Pod): readonly ResourceAmounts[] {
  try {
    return [podResources(asScheduled(pod)).requests];
  } catch (error) {
    if (error instanceof UsageError) return [];
    throw error;
  }
}

function lacking(pod: Pod, { status }: Node, pods: readonly Pod[]): string | undefined {
  const allocatable = status?.allocatable;
  if (!allocatable) return undefined;
  const live = pods.filter((each) => !isTerminalPhase(each.status?.phase));
  const most = Number(allocatable["pods"] ?? "0");
  if (most > 0 && live.length + 1 > most) return "Too many pods";
  const total = resourceAmounts(allocatable);
  const asked = podResources(pod).requests;
  const used = live.flatMap(requestsOf);
  const fits = (of: (amounts: ResourceAmounts) => number) =>
    of(asked) === 0 || used.reduce((sum, each) => sum + of(each), 0) + of(asked) <= of(total);
  if (!fits(({ cpuMilli }) => cpuMilli)) return "Insufficient cpu";
  if (!fits(({ memoryBytes }) => memoryBytes)) return "Insufficient memory";
  const short = [...asked.extended.keys()].find(
    (name) => !fits(({ extended }) => extended.get(name) ?? 0),
  );
  return short === undefined ? undefined : `Insufficient ${short}`;
}

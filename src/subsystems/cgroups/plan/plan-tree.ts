// pure

import type { CgroupSettings } from "../settings.ts";
import type { CgroupPlan } from "../writes.ts";
import type { PodDemand } from "./demand.ts";
import { planNode, planReserved } from "./plan-node.ts";
import { planPodGroup } from "./plan-pod.ts";
import { planQos } from "./plan-qos.ts";

/**
 * Every group that the agent keeps on a node that runs the given pods, parents before children, each
 * path once. The machine's own groups under enforced reservations come last.
 */
export function planTree(
  settings: CgroupSettings,
  demands: readonly PodDemand[],
): readonly CgroupPlan[] {
  const pods = demands.map((demand) => planPodGroup(settings, demand));
  return merge([
    planNode(settings),
    ...planQos(settings, demands),
    ...pods,
    ...planReserved(settings),
  ]);
}

function merge(plans: readonly CgroupPlan[]): readonly CgroupPlan[] {
  const byPath = new Map<string, CgroupPlan>();
  for (const plan of plans) {
    const earlier = byPath.get(plan.path);
    byPath.set(
      plan.path,
      earlier ? { ...earlier, writes: [...earlier.writes, ...plan.writes] } : plan,
    );
  }
  return [...byPath.values()];
}

// pure
import type { Pod } from "../../api/generated/types.ts";
import { amountsByName, podResources, type ResourceAmounts } from "../../api/pod/pod-resources.ts";

/** Resources of the node for pods. */
export interface NodeResources {
  /** Allocatable amounts; ephemeral storage 0 when it is not accounted for. */
  readonly allocatable: ResourceAmounts;
  readonly pods: number;
}

/** A resource of which there is not enough, with its unit of `podResources`; `pods` counts pods. */
export interface Shortage {
  readonly name: string;
  /** Missing amount. */
  readonly amount: number;
}

/** A shortage with the amounts it was found by. */
export interface FoundShortage extends Shortage {
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

const HUGE_PAGES = "hugepages-";

/**
 * Every resource of which the node has too little left for the pod. Extended resources the node does not
 * have are another component's matter and are not asked about; a size of huge pages that it does not have is
 * one of which it has none.
 */
export function shortages(
  candidate: Pod,
  others: readonly Pod[],
  nodeInfo: NodeResources,
): readonly FoundShortage[] {
  const found: FoundShortage[] = [];
  const ask = (name: string, requested: number, used: number, capacity: number) => {
    const amount = used + requested - capacity;
    if (amount > 0) found.push({ name, amount, requested, used, capacity });
  };
  ask("pods", 1, others.length, nodeInfo.pods);
  const capacity = amountsByName(nodeInfo.allocatable);
  for (const [name, amount] of amountsByName(podResources(candidate).requests)) {
    const has = capacity.get(name) ?? (name.startsWith(HUGE_PAGES) ? 0 : undefined);
    if (amount <= 0 || has === undefined) continue;
    let used = 0;
    for (const pod of others) used += amountsByName(podResources(pod).requests).get(name) ?? 0;
    ask(name, amount, used, has);
  }
  return found;
}

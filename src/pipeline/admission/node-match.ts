// pure
import type { Pod, Taint } from "../../api/generated/types.ts";
import { matchesNodeSelector } from "../../api/node/node-selector.ts";
import { tolerates } from "../../api/node/taints.ts";
import { isStaticPod } from "../../api/pod/pod.ts";
import type { LabelSet } from "../../api/text/labels.ts";

/** The node's object in the API, as far as pods can ask for it. */
export interface NodeAttributes {
  readonly name: string;
  readonly labels: LabelSet;
  readonly taints: readonly Taint[];
}

/** Whether the node is one that the pod's selector and required affinity ask for (component-helpers nodeaffinity). */
export function matchesNode({ spec }: Pod, node: NodeAttributes): boolean {
  const selected = Object.entries(spec?.nodeSelector ?? {}).every(
    ([key, value]) => node.labels[key] === value,
  );
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!selected || !required) return selected;
  return matchesNodeSelector(required, node);
}

/** The first `NoExecute` taint that the pod does not put up with; static pods put up with all. */
export function untoleratedTaint(pod: Pod, { taints }: NodeAttributes): Taint | undefined {
  if (isStaticPod(pod)) return undefined;
  const tolerations = pod.spec?.tolerations ?? [];
  return taints.find(
    (taint) => taint.effect === "NoExecute" && !tolerations.some((each) => tolerates(each, taint)),
  );
}

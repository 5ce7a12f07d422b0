// pure
import type { Pod, Taint } from "../../api/generated/types.ts";
import { tolerates } from "../../api/node/taints.ts";
import { isCriticalPod } from "../../api/pod/pod.ts";
import { qosClassOf } from "../../api/pod/qos.ts";

/** The taint that the control plane sets for memory pressure. */
const MEMORY_TAINT: Taint = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" };

/**
 * Whether the pod may come onto a node that is under these conditions: critical ones always may. Memory pressure alone
 * keeps off pods of the class BestEffort that do not tolerate its taint; any other keeps off all
 * (eviction_manager.go Admit).
 */
export function mayComeUnder(conditions: readonly string[], pod: Pod): boolean {
  if (conditions.length === 0 || isCriticalPod(pod)) return true;
  if (conditions.some((condition) => condition !== "MemoryPressure")) return false;
  if (qosClassOf(pod) !== "BestEffort") return true;
  return (pod.spec?.tolerations ?? []).some((toleration) => tolerates(toleration, MEMORY_TAINT));
}

/** Why it may not. */
export const pressureText = (conditions: readonly string[]): string =>
  `The node had condition: [${conditions.join(" ")}]. `;

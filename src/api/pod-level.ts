// pure
/** Pods with amounts as a whole (KEP-2837), and which of their containers have amounts for themselves. */
import type { Container, Pod } from "./generated/types.ts";
import { isSameAmount } from "./pod/allocation.ts";
import { hasOwnResources } from "./pod/qos.ts";

/** Whether the pod has requests or limits as a whole. */
export const hasPodAmounts = ({ spec }: Pick<Pod, "spec">): boolean =>
  spec?.resources !== undefined && hasOwnResources(spec.resources);

/** Whether the container has limits of CPU and memory, and requests just these: with the pod guaranteed, it has them for itself. */
export function isGuaranteedItself({ resources }: Pick<Container, "resources">): boolean {
  return ["cpu", "memory"].every((name) => {
    const limit = resources?.limits?.[name];
    return limit !== undefined && isSameAmount(resources?.requests?.[name] ?? limit, limit);
  });
}

// pure

import { isSame } from "../../api/decode/strategic-diff.ts";
import type { PodSpec, RuntimeClass, Toleration } from "../../api/generated/types.ts";
import { compareQuantities, parseQuantity } from "../../api/text/quantity.ts";

/** Fields that a runtime class adds to a pod, or why the pod is refused. */
type RuntimeClassVerdict =
  | {
      readonly kind: "adds";
      readonly spec: Pick<PodSpec, "overhead" | "nodeSelector" | "tolerations">;
    }
  | { readonly kind: "refused"; readonly why: string };

const refused = (why: string): RuntimeClassVerdict => ({ kind: "refused", why });

/**
 * Overhead and scheduling by the pod's runtime class, which is `undefined` when it names none
 * (plugin/pkg/admission/runtimeclass). Quantities of both have been read before.
 */
export function admitRuntimeClass(
  spec: PodSpec,
  found: RuntimeClass | undefined,
): RuntimeClassVerdict {
  const fixed = found?.overhead?.podFixed;
  if (spec.overhead !== undefined && !found?.overhead)
    return refused(
      "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    );
  if (spec.overhead !== undefined && !sameAmounts(spec.overhead, fixed ?? {}))
    return refused("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  const { nodeSelector = {}, tolerations = [] } = found?.scheduling ?? {};
  for (const [key, value] of Object.entries(nodeSelector)) {
    const own = spec.nodeSelector?.[key];
    if (own !== undefined && own !== value)
      return refused(
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`,
      );
  }
  return {
    kind: "adds",
    spec: {
      ...(fixed ? { overhead: fixed } : {}),
      ...(Object.keys(nodeSelector).length > 0
        ? { nodeSelector: { ...spec.nodeSelector, ...nodeSelector } }
        : {}),
      ...(tolerations.length > 0
        ? { tolerations: mergeTolerations(spec.tolerations ?? [], tolerations) }
        : {}),
    },
  };
}

type Amounts = Readonly<Record<string, string>>;

function sameAmounts(a: Amounts, b: Amounts): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => {
    const [one, other] = [a[name], b[name]];
    if (one === undefined || other === undefined) return false;
    return compareQuantities(parseQuantity(one), parseQuantity(other)) === 0;
  });
}

/** Both lists without those that another one covers (pkg/util/tolerations). */
function mergeTolerations(
  first: readonly Toleration[],
  second: readonly Toleration[],
): readonly Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  for (const [i, one] of all.entries()) {
    if (merged.some((kept) => covers(kept, one))) continue;
    if (all.slice(i + 1).some((later) => !isSame(later, one) && covers(later, one))) continue;
    merged.push(one);
  }
  return merged;
}

/** Whether `wide` tolerates all that `narrow` does. */
function covers(wide: Toleration, narrow: Toleration): boolean {
  if (isSame(wide, narrow)) return true;
  const { key = "", effect = "", operator = "", tolerationSeconds } = wide;
  if ((narrow.key ?? "") !== key && (key !== "" || operator !== "Exists")) return false;
  if ((narrow.effect ?? "") !== effect && effect !== "") return false;
  if (effect === "NoExecute" && tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined) return false;
    if (narrow.tolerationSeconds > tolerationSeconds) return false;
  }
  if (operator === "Exists") return true;
  if (operator !== "" && operator !== "Equal") return false;
  return narrow.operator === "Equal" && (narrow.value ?? "") === (wide.value ?? "");
}

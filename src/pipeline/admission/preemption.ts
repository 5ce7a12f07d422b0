// pure
import type { Pod } from "../../api/generated/types.ts";
import { isCriticalPod } from "../../api/pod/pod.ts";
import { amountsByName, podResources } from "../../api/pod/pod-resources.ts";
import { type QosClass, qosClassOf } from "../../api/pod/qos.ts";
import type { Shortage } from "./shortages.ts";

/** The pods to preempt, or why preemption would not suffice. */
export type Preemption =
  | { readonly kind: "evict"; readonly victims: readonly Pod[] }
  | { readonly kind: "impossible"; readonly missing: readonly Shortage[] };

/** The classes in the order in which their pods are evicted. */
const WORST_FIRST: readonly QosClass[] = ["BestEffort", "Burstable", "Guaranteed"];

/**
 * The pods to preempt for a critical one: as few as possible of the better classes, of a class those
 * that come closest to what is missing (preemption.go getPodsToPreempt).
 */
export function planPreemption(
  candidate: Pod,
  running: readonly Pod[],
  missing: readonly Shortage[],
): Preemption {
  const mayGo = running.filter((pod) => isPreemptable(candidate, pod));
  const [bestEffort = [], burstable = [], guaranteed = []] = WORST_FIRST.map((qos) =>
    mayGo.filter((pod) => qosClassOf(pod) === qos),
  );
  const left = without(missing, mayGo);
  if (left.length > 0) return { kind: "impossible", missing: left };
  const ofGuaranteed = closest(guaranteed, without(missing, [...bestEffort, ...burstable]));
  const ofBurstable = closest(burstable, without(missing, [...bestEffort, ...ofGuaranteed]));
  const ofBestEffort = closest(bestEffort, without(missing, [...ofBurstable, ...ofGuaranteed]));
  return { kind: "evict", victims: [...ofBestEffort, ...ofBurstable, ...ofGuaranteed] };
}

/** Whether a pod may be evicted for another (types.Preemptable). */
function isPreemptable(preemptor: Pod, pod: Pod): boolean {
  if (isCriticalPod(preemptor) && !isCriticalPod(pod)) return true;
  return (preemptor.spec?.priority ?? 0) > (pod.spec?.priority ?? 0);
}

function closest(pods: readonly Pod[], missing: readonly Shortage[]): readonly Pod[] {
  const chosen: Pod[] = [];
  let rest = missing;
  while (rest.length > 0) {
    const candidates = pods.filter((pod) => !chosen.includes(pod));
    const best = candidates.reduce<Pod | undefined>(
      (kept, pod) => (kept === undefined || isBetter(pod, kept, rest) ? pod : kept),
      undefined,
    );
    if (best === undefined) return chosen;
    chosen.push(best);
    rest = without(rest, [best]);
  }
  return chosen;
}

function isBetter(pod: Pod, kept: Pod, missing: readonly Shortage[]): boolean {
  const difference = distance(pod, missing) - distance(kept, missing);
  return difference === 0 ? asksForLess(pod, kept) : difference < 0;
}

/** How much would still be missing without the pod, each resource as the square of its share. */
function distance(pod: Pod, missing: readonly Shortage[]): number {
  return missing.reduce((sum, { name, amount }) => {
    const left = Math.max(0, amount - requestOf(pod, name));
    return sum + (left / amount) ** 2;
  }, 0);
}

function asksForLess(a: Pod, b: Pod): boolean {
  for (const name of ["memory", "cpu"]) {
    const [ofA, ofB] = [requestOf(a, name), requestOf(b, name)];
    if (ofA !== ofB) return ofA < ofB;
  }
  return true;
}

function without(missing: readonly Shortage[], pods: readonly Pod[]): readonly Shortage[] {
  return missing.flatMap(({ name, amount }) => {
    const left = amount - pods.reduce((sum, pod) => sum + requestOf(pod, name), 0);
    return left > 0 ? [{ name, amount: left }] : [];
  });
}

function requestOf(pod: Pod, name: string): number {
  return name === "pods" ? 1 : (amountsByName(podResources(pod).requests).get(name) ?? 0);
}

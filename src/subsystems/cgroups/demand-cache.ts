import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { type PodDemand, readDemand } from "./plan/demand.ts";

/** Pods are replaced, never changed, so what one asks for is read once. */
const known = new WeakMap<IdentifiedPod, PodDemand>();

/** Requests and limits of the pod. `UsageError` on a value that is not a quantity. */
export function podDemand(pod: IdentifiedPod): PodDemand {
  const found = known.get(pod);
  if (found) return found;
  const demand = readDemand(pod, pod.metadata.uid);
  known.set(pod, demand);
  return demand;
}

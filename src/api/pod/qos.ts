// pure
import type { Pod, ResourceRequirements } from "../generated/types.ts";
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  type Quantity,
} from "../text/quantity.ts";

/** A pod's quality of service, from best to worst. */
export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const COMPUTE = ["cpu", "memory"] as const;
type Compute = (typeof COMPUTE)[number];
type Sums = Map<Compute, Quantity>;

/** Adds what `list` says of CPU and memory; answers how many of the two are above zero. */
function addPositive(sums: Sums, list: Readonly<Record<string, string>> | undefined): number {
  let found = 0;
  for (const name of COMPUTE) {
    const text = list?.[name];
    if (text === undefined) continue;
    const quantity = parseQuantity(text);
    if (quantity.mantissa <= 0n) continue;
    found++;
    const sum = sums.get(name);
    sums.set(name, sum === undefined ? quantity : addQuantities(sum, quantity));
  }
  return found;
}

/** The resources that count for the class: the pod's own if it sets them, else those of its containers. */
function countedResources(pod: Pod): readonly (ResourceRequirements | undefined)[] {
  const spec = pod.spec;
  if (spec === undefined) return [];
  if (spec.resources !== undefined) return [spec.resources];
  return [...spec.containers, ...(spec.initContainers ?? [])].map(({ resources }) => resources);
}

/**
 * The class computed from the spec alone. Guaranteed needs CPU and memory limits on every container and
 * equal sums of requests and limits; the comparison is of sums, not container by container.
 * Throws `UsageError` on a resource that is not a quantity.
 */
export function computeQosClass(pod: Pod): QosClass {
  const requests: Sums = new Map();
  const limits: Sums = new Map();
  let everyLimit = true;
  for (const resources of countedResources(pod)) {
    addPositive(requests, resources?.requests);
    if (addPositive(limits, resources?.limits) < COMPUTE.length) everyLimit = false;
  }
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  if (!everyLimit || requests.size !== limits.size) return "Burstable";
  for (const [name, request] of requests) {
    const limit = limits.get(name);
    if (limit === undefined || compareQuantities(limit, request) !== 0) return "Burstable";
  }
  return "Guaranteed";
}

/** The class the API has given the pod, else the computed one. */
export function qosClassOf(pod: Pod): QosClass {
  const given = pod.status?.qosClass;
  return given === "Guaranteed" || given === "Burstable" || given === "BestEffort"
    ? given
    : computeQosClass(pod);
}

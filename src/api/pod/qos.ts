// pure
import type { Pod, ResourceRequirements } from "../generated/types.ts";
import { compareQuantities, parseQuantity } from "../text/quantity.ts";
import { isPodLevelResource } from "./pod-resources.ts";

/** A pod's quality of service, from best to worst. */
export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

const COMPUTE = ["cpu", "memory"] as const;

/** How the class of a pod depends on feature gates. */
interface QosRules {
  /** Whether resources of the pod as a whole decide also where they hold no amount, as in 1.36. Default false. */
  readonly countsEmptyPodResources?: boolean;
}

/** Whether requests or limits of the pod as a whole are set. */
export function hasOwnResources({ requests = {}, limits = {} }: ResourceRequirements): boolean {
  return [...Object.keys(requests), ...Object.keys(limits)].some(isPodLevelResource);
}

/** The resources that count for the class: the pod's own if it sets them, else those of its containers. */
function countedResources(
  { spec }: Pod,
  { countsEmptyPodResources = false }: QosRules,
): readonly ResourceRequirements[] {
  if (spec === undefined) return [];
  const own = spec.resources;
  if (own && (countsEmptyPodResources || hasOwnResources(own))) return [own];
  return [...(spec.initContainers ?? []), ...spec.containers].map(
    ({ resources }) => resources ?? {},
  );
}

/** The class by one resource: none, the same amount twice, or two amounts. */
function classBy({ requests, limits }: ResourceRequirements, name: string): QosClass {
  const [request, limit] = [requests?.[name] ?? "0", limits?.[name] ?? "0"].map(parseQuantity);
  if (!(request && limit) || compareQuantities(request, limit) !== 0) return "Burstable";
  return request.mantissa === 0n ? "BestEffort" : "Guaranteed";
}

/** The class of which all are; Burstable where they differ. */
function commonClass(classes: readonly QosClass[]): QosClass {
  const [first = "BestEffort"] = classes;
  return classes.every((each) => each === first) ? first : "Burstable";
}

/**
 * The class computed from the spec alone: of each container by CPU and by memory, Guaranteed or BestEffort where all agree
 * (qos.go ComputePodQOS since 1.37). Throws `UsageError` on a resource that is not a quantity.
 */
export function computeQosClass(pod: Pod, rules: QosRules = {}): QosClass {
  return commonClass(
    countedResources(pod, rules).map((resources) =>
      commonClass(COMPUTE.map((name) => classBy(resources, name))),
    ),
  );
}

/** The class the API has given the pod, else the computed one. */
export function qosClassOf(pod: Pod): QosClass {
  const given = pod.status?.qosClass;
  return given === "Guaranteed" || given === "Burstable" || given === "BestEffort"
    ? given
    : computeQosClass(pod);
}

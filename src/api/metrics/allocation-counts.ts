import { derivedOnce } from "../../kit/derived-once.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import { METRICS } from "./metrics.ts";

/** Counts what a manager of CPUs or memory has given away (KEP-5526). */
export interface AllocationCounts {
  /** A container got `allocations` of the node's for itself, one of each kind of the resource. */
  ofNode(allocations?: number): void;
  /** A pod got the resource as a whole: whether each of its containers has some for itself, or shares the rest. */
  ofPod(isExclusive: readonly boolean[]): void;
  /** A container, or a pod as a whole, could not get any. */
  failed(source: "node" | "pod"): void;
}

/** The counters of a registry: both managers count in them. */
const countersOf = derivedOnce((metrics: MetricsRegistry) => ({
  allocations: metrics.counter(METRICS.kubelet_resource_manager_allocations_total),
  errors: metrics.counter(METRICS.kubelet_resource_manager_allocation_errors_total),
  assignments: metrics.counter(METRICS.kubelet_resource_manager_container_assignments_total),
}));

/** Registers the counters; without `isOn`, the gate PodLevelResourceManagers, nothing is counted, as in the Go kubelet. */
export function allocationCounts(
  metrics: MetricsRegistry,
  resource_name: "cpu" | "memory",
  isOn: boolean,
): AllocationCounts {
  const { allocations, errors, assignments } = countersOf(metrics);
  const assigned = (assignment_type: string, count: number) => {
    if (count > 0) assignments.add({ resource_name, assignment_type }, count);
  };
  if (!isOn) return { ofNode: () => {}, ofPod: () => {}, failed: () => {} };
  return {
    ofNode: (count = 1) => {
      allocations.add({ resource_name, source: "node" }, count);
      assigned("node_exclusive", 1);
    },
    ofPod: (isExclusive) => {
      const exclusive = isExclusive.filter(Boolean).length;
      allocations.add({ resource_name, source: "pod" }, isExclusive.length);
      assigned("pod_exclusive", exclusive);
      assigned("pod_shared", isExclusive.length - exclusive);
    },
    failed: (source) => errors.add({ resource_name, source }),
  };
}

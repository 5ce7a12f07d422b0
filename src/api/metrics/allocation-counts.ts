import { derivedOnce } from "../../kit/derived-once.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import { METRICS } from "./metrics.ts";

/** Counts what a manager of CPUs or memory has given away (KEP-5526). */
export interface AllocationCounts {
  /** A container got `allocations` of the node's for itself, one of each kind of the resource. */
  ofNode(allocations?: number): void;
  /** Containers of a pod that has the resource as a whole: how many have some for themselves, and how many share the rest. */
  ofPod(members: { readonly exclusive: number; readonly sharing: number }): void;
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
    ofPod: ({ exclusive, sharing }) => {
      allocations.add({ resource_name, source: "pod" }, exclusive + sharing);
      assigned("pod_exclusive", exclusive);
      assigned("pod_shared", sharing);
    },
    failed: (source) => errors.add({ resource_name, source }),
  };
}

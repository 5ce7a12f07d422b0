import { alignedResources } from "../../api/metrics/aligned-resources.ts";
import { type AllocationCounts, allocationCounts } from "../../api/metrics/allocation-counts.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import { type CpuState, exclusiveCpus } from "./cpu-state.ts";
import type { StaticPolicy } from "./static-policy.ts";

/** Counts what is requested and how it went. */
export interface CpuMeasures extends Pick<AllocationCounts, "ofPod"> {
  requested(): void;
  /** Whether a container's CPUs were to come from the node, or those of a pod as a whole. */
  refused(source: "node" | "pod"): void;
  granted(cpus: readonly number[], source: "node" | "pod"): void;
}

/** Registers the metrics; gauges are read off the state. */
export function cpuMeasures(
  metrics: MetricsRegistry,
  policy: StaticPolicy | undefined,
  state: () => CpuState,
): CpuMeasures {
  const requests = metrics.counter(METRICS.kubelet_cpu_manager_pinning_requests_total);
  const errors = metrics.counter(METRICS.kubelet_cpu_manager_pinning_errors_total);
  const { aligned, failed } = alignedResources(metrics);
  const reserved = new Set(policy?.reserved);
  metrics.collected(METRICS.kubelet_cpu_manager_shared_pool_size_millicores, () => [
    { value: 1000 * state().shared.filter((cpu) => !reserved.has(cpu)).length },
  ]);
  metrics.collected(METRICS.kubelet_cpu_manager_exclusive_cpu_allocation_count, () => [
    { value: exclusiveCpus(state()).size },
  ]);
  metrics.collected(METRICS.kubelet_cpu_manager_allocation_per_numa, () => {
    const held = exclusiveCpus(state());
    return (policy?.units.node ?? []).map(({ id, cpus }) => ({
      labels: { numa_node: String(id) },
      value: cpus.filter((cpu) => held.has(cpu)).length,
    }));
  });
  const counts = allocationCounts(metrics, "cpu", policy?.podLevel !== undefined);
  const cacheOf = (cpu: number) => policy?.units.cpus.get(cpu)?.cache;
  return {
    requested: () => requests.add(),
    ofPod: counts.ofPod,
    refused: (source) => {
      errors.add();
      counts.failed(source);
      if (policy?.options.fullCores) failed.add({ scope: "container", boundary: "physical_cpu" });
    },
    granted: (cpus, source) => {
      if (source === "node") counts.ofNode();
      if (policy?.options.fullCores) aligned.add({ scope: "container", boundary: "physical_cpu" });
      if (new Set(cpus.map(cacheOf)).size === 1)
        aligned.add({ scope: "container", boundary: "uncore_cache" });
    },
  };
}

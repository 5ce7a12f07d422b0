import { alignedResources } from "../../../api/metrics/aligned-resources.ts";
import { METRICS } from "../../../api/metrics/metrics.ts";
import type { TopologySettings } from "../../../config/topology.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { MetricsRegistry } from "../../../kit/metrics.ts";

/** Metrics of the placement of pods on NUMA nodes (topologymanager). */
export interface AlignmentMeasures {
  /** Placing begins for a pod; the returned function takes the outcome. A pod is counted once until it is placed. */
  begin(podUid: string): (outcome: "placed" | "later" | "refused", containers: number) => void;
}

/** Pods that wait for resources and whose request was counted; more are counted again. */
const MAX_WAITING = 1_000;

/** Registers the metrics. With a policy both scopes are shown from the beginning (topology_manager.go initializeMetrics). */
export function alignmentMeasures(
  metrics: MetricsRegistry,
  clock: Pick<Clock, "monotonic">,
  { policy, scope }: Pick<TopologySettings, "policy" | "scope">,
): AlignmentMeasures {
  const requested = metrics.counter(METRICS.kubelet_topology_manager_admission_requests_total);
  const errors = metrics.counter(METRICS.kubelet_topology_manager_admission_errors_total);
  const duration = metrics.histogram(METRICS.kubelet_topology_manager_admission_duration_ms);
  const { aligned, failed } = alignedResources(metrics);
  if (policy !== "none")
    for (const counter of [aligned, failed])
      for (const each of ["container", "pod"])
        counter.add({ scope: each, boundary: "numa_node" }, 0);
  const waiting = new Set<string>();
  return {
    begin: (podUid) => {
      const began = clock.monotonic();
      if (!waiting.has(podUid)) requested.add();
      if (waiting.size < MAX_WAITING) waiting.add(podUid);
      return (outcome, containers) => {
        duration.observe(clock.monotonic() - began);
        if (outcome === "later") return;
        waiting.delete(podUid);
        if (outcome === "refused") errors.add();
        // Only this policy guarantees one node (IsAlignmentGuaranteed); what it refuses counts once.
        if (policy !== "single-numa-node") return;
        const [counter, count] = outcome === "placed" ? [aligned, containers] : [failed, 1];
        counter.add({ scope, boundary: "numa_node" }, scope === "pod" ? 1 : count);
      };
    },
  };
}

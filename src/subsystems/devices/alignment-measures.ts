import { METRICS } from "../../api/metrics/metrics.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { GrantPlan } from "./allocate.ts";
import type { ContainerRequests } from "./requests.ts";
import type { TopologySettings } from "./topology.ts";

/** Metrics of device placement on NUMA nodes (topologymanager). */
export interface AlignmentMeasures {
  /** Placing begins for a pod; the returned function takes the plan. A pod is counted once until it is placed. */
  begin(
    topology: TopologySettings,
    requests: readonly ContainerRequests[],
    podUid: string,
  ): (plan: GrantPlan) => void;
}

/** Policies that refuse what does not fit on one node, or on as few as can be. */
const STRICT: ReadonlySet<string> = new Set(["restricted", "single-numa-node"]);
/** Pods that wait for devices and whose request was counted; more are counted again. */
const MAX_WAITING = 1_000;

/** Registers the metrics. With a policy both scopes are shown from the beginning (topology_manager.go initializeMetrics). */
export function alignmentMeasures(
  metrics: MetricsRegistry,
  clock: Pick<Clock, "monotonic">,
  configured: TopologySettings["policy"],
): AlignmentMeasures {
  const requested = metrics.counter(METRICS.kubelet_topology_manager_admission_requests_total);
  const errors = metrics.counter(METRICS.kubelet_topology_manager_admission_errors_total);
  const duration = metrics.histogram(METRICS.kubelet_topology_manager_admission_duration_ms);
  const aligned = metrics.counter(METRICS.kubelet_container_aligned_compute_resources_count);
  const failed = metrics.counter(METRICS.kubelet_container_aligned_compute_resources_failure_count);
  if (configured !== "none")
    for (const counter of [aligned, failed])
      for (const scope of ["container", "pod"]) counter.add({ scope, boundary: "numa_node" }, 0);
  const waiting = new Set<string>();
  return {
    begin: ({ policy, scope }, requests, podUid) => {
      const began = clock.monotonic();
      if (policy === "none") return () => {};
      if (!waiting.has(podUid)) requested.add();
      if (waiting.size < MAX_WAITING) waiting.add(podUid);
      return (plan) => {
        duration.observe(clock.monotonic() - began);
        if (plan.kind === "wait") return;
        waiting.delete(podUid);
        const isPlaced = plan.kind === "plan";
        if (!isPlaced) errors.add();
        if (!STRICT.has(policy)) return;
        const containers = requests.filter(({ resources }) => resources.length > 0).length;
        (isPlaced ? aligned : failed).add({ scope, boundary: "numa_node" }, containers);
      };
    },
  };
}

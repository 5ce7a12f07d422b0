import { derivedOnce } from "../../kit/derived-once.ts";
import type { Counter, MetricsRegistry } from "../../kit/metrics.ts";
import { METRICS } from "./metrics.ts";

/** Containers whose resources are where they were to be, and those where that failed; several modules count in them. */
interface AlignedResources {
  readonly aligned: Counter;
  readonly failed: Counter;
}

/** The two counters of a registry. */
export const alignedResources = derivedOnce(
  (metrics: MetricsRegistry): AlignedResources => ({
    aligned: metrics.counter(METRICS.kubelet_container_aligned_compute_resources_count),
    failed: metrics.counter(METRICS.kubelet_container_aligned_compute_resources_failure_count),
  }),
);

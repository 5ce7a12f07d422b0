import { METRICS } from "../../api/metrics/metrics.ts";
import type {
  Counter,
  Gauge,
  Histogram,
  MetricOptions,
  MetricsRegistry,
} from "../../kit/metrics.ts";
import { sizeBucket } from "./size-bucket.ts";

/** Metrics of images, under the Go kubelet's names. */
export interface ImageMetrics {
  readonly collected: Counter<"reason">;
  readonly providerDuration: Histogram<"plugin_name">;
  readonly providerErrors: Counter<"plugin_name">;
  readonly providerConfig: Gauge<"hash">;
  readonly mustPull: Counter<"result">;
  /** A container asked for an image: whether it is there and whether it has to be pulled, as far as that was found out. */
  readonly asked: (
    policy: string,
    found?: { readonly present?: boolean; readonly pulls?: boolean },
  ) => void;
  readonly pulled: (bytes: number, tookMs: number) => void;
}

/** Shows how many records of pulls there are, and how near that is to the most that are kept. */
export function exposePullRecords(
  metrics: MetricsRegistry,
  sizes: () => { readonly pulled: number; readonly pulling: number; readonly most: number },
): void {
  const show = (
    onDisk: MetricOptions & { readonly type: "gauge" },
    inMemory: MetricOptions & { readonly type: "gauge" },
    kind: "pulled" | "pulling",
  ) => {
    metrics.collected(onDisk, () => [{ value: sizes()[kind] }]);
    metrics.collected(inMemory, () => [{ value: (sizes()[kind] / sizes().most) * 100 }]);
  };
  show(
    METRICS.kubelet_imagemanager_ondisk_pulledrecords,
    METRICS.kubelet_imagemanager_inmemory_pulledrecords_usage_percent,
    "pulled",
  );
  show(
    METRICS.kubelet_imagemanager_ondisk_pullintents,
    METRICS.kubelet_imagemanager_inmemory_pullintents_usage_percent,
    "pulling",
  );
}

/** Registers the metrics of the module. */
export function imageMetrics(metrics: MetricsRegistry): ImageMetrics {
  const duration = metrics.histogram(METRICS.kubelet_image_pull_duration_seconds);
  const asked = metrics.counter(METRICS.kubelet_image_manager_ensure_image_requests_total);
  return {
    collected: metrics.counter(METRICS.kubelet_image_garbage_collected_total),
    providerDuration: metrics.histogram(METRICS.kubelet_credential_provider_plugin_duration),
    providerErrors: metrics.counter(METRICS.kubelet_credential_provider_plugin_errors_total),
    providerConfig: metrics.gauge(METRICS.kubelet_credential_provider_config_info),
    mustPull: metrics.counter(METRICS.kubelet_imagemanager_image_mustpull_checks_total),
    asked: (policy, { present, pulls } = {}) =>
      asked.add({
        pull_policy: policy.toLowerCase(),
        present_locally: String(present ?? "unknown"),
        pull_required: String(pulls ?? "unknown"),
      }),
    pulled: (bytes, tookMs) =>
      duration.observe(tookMs / 1000, { image_size_in_bytes: sizeBucket(bytes) }),
  };
}

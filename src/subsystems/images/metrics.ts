import { METRICS } from "../../api/metrics/metrics.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import { sizeBucket } from "./pull/image-texts.ts";

/** Metrics of images, under the Go kubelet's names. */
export interface ImageMetrics {
  readonly collected: ReturnType<MetricsRegistry["counter"]>;
  readonly providerDuration: ReturnType<MetricsRegistry["histogram"]>;
  readonly providerErrors: ReturnType<MetricsRegistry["counter"]>;
  readonly asked: (policy: string, present: boolean, pulls: boolean) => void;
  readonly pulled: (bytes: number, tookMs: number) => void;
}

/** Registers the metrics of the module. */
export function imageMetrics(metrics: MetricsRegistry): ImageMetrics {
  const duration = metrics.histogram(METRICS.kubelet_image_pull_duration_seconds);
  const asked = metrics.counter(METRICS.kubelet_image_manager_ensure_image_requests_total);
  return {
    collected: metrics.counter(METRICS.kubelet_image_garbage_collected_total),
    providerDuration: metrics.histogram(METRICS.kubelet_credential_provider_plugin_duration),
    providerErrors: metrics.counter(METRICS.kubelet_credential_provider_plugin_errors_total),
    asked: (policy, present, pulls) =>
      asked.add({
        pull_policy: policy.toLowerCase(),
        present_locally: policy === "Always" ? "unknown" : String(present),
        pull_required: String(pulls),
      }),
    pulled: (bytes, tookMs) =>
      duration.observe(tookMs / 1000, { image_size_in_bytes: sizeBucket(bytes) }),
  };
}

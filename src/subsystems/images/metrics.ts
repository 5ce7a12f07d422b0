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

const PULL_BUCKETS_SECONDS = [1, 5, 10, 20, 30, 60, 180, 300, 600, 900, 1200, 1800, 2700, 3600];

/** Registers the metrics of the module. */
export function imageMetrics(metrics: MetricsRegistry): ImageMetrics {
  const duration = metrics.histogram({
    name: "kubelet_image_pull_duration_seconds",
    help: "Duration in seconds to pull an image.",
    buckets: PULL_BUCKETS_SECONDS,
  });
  const asked = metrics.counter({
    name: "kubelet_image_manager_ensure_image_requests_total",
    help: "Number of ensure-image requests processed by the kubelet.",
  });
  return {
    collected: metrics.counter({
      name: "kubelet_image_garbage_collected_total",
      help: "Total number of images garbage collected by the kubelet, whether through disk usage or image age.",
    }),
    providerDuration: metrics.histogram({
      name: "kubelet_credential_provider_plugin_duration",
      help: "Duration of execution in seconds for credential provider plugin",
    }),
    providerErrors: metrics.counter({
      name: "kubelet_credential_provider_plugin_errors",
      help: "Number of errors from credential provider plugin",
    }),
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

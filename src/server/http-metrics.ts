import { METRICS } from "../api/metrics/metrics.ts";
import type { Clock } from "../kit/clock.ts";
import type { MetricsRegistry } from "../kit/metrics.ts";

/** Labels of one request; all of them from small closed sets. */
interface RequestLabels {
  readonly method: string;
  readonly path: string;
  readonly server_type: "readwrite" | "readonly";
  readonly long_running: "true" | "false";
}

/** Counts requests; `begin` is called for each and answers what to call at its end. */
export interface HttpMetrics {
  begin(labels: RequestLabels): () => void;
}

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

/** The method, or `other`: callers may send any word. */
export function methodLabel(method: string): string {
  return METHODS.has(method) ? method : "other";
}

/** The Go kubelet's metrics of its server (server/metrics). */
export function createHttpMetrics(metrics: MetricsRegistry, clock: Clock): HttpMetrics {
  const total = metrics.counter(METRICS.kubelet_http_requests_total);
  const duration = metrics.histogram(METRICS.kubelet_http_requests_duration_seconds);
  const inFlight = new Map<string, { readonly labels: RequestLabels; count: number }>();
  metrics.collected(METRICS.kubelet_http_inflight_requests, () =>
    [...inFlight.values()].map(({ labels, count }) => ({ labels: { ...labels }, value: count })),
  );
  return {
    begin: (labels) => {
      const began = clock.monotonic();
      const key = Object.values(labels).join(" ");
      const entry = inFlight.get(key) ?? { labels, count: 0 };
      inFlight.set(key, entry);
      entry.count += 1;
      total.add({ ...labels });
      return () => {
        entry.count -= 1;
        duration.observe((clock.monotonic() - began) / 1000, { ...labels });
      };
    },
  };
}

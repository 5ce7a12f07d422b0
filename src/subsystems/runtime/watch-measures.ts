import { METRICS } from "../../api/metrics/metrics.ts";
import type { Clock, MonotonicMs, WallMs } from "../../kit/clock.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { RuntimeEvent } from "../../outside/cri/cri.ts";

/** What is measured of watching the runtime, under the names of the Go kubelet's pod lifecycle event generator. */
export interface WatchMeasures {
  /** A listing of everything begins, the last of which began at `before`; the function is called at its end. */
  listing(before: MonotonicMs | undefined): () => void;
  event(event: RuntimeEvent): void;
  /** An event of a pod was not followed, since it is observed after what is being done for it. */
  discarded(): void;
  streamOpened(): void;
  streamBroke(): void;
}

/** Registers the metrics. */
export function watchMeasures(metrics: MetricsRegistry, clock: Clock): WatchMeasures {
  const duration = metrics.histogram(METRICS.kubelet_pleg_relist_duration_seconds);
  const interval = metrics.histogram(METRICS.kubelet_pleg_relist_interval_seconds);
  const lastSeen = metrics.gauge(METRICS.kubelet_pleg_last_seen_seconds);
  const discarded = metrics.counter(METRICS.kubelet_pleg_discard_events);
  const opened = metrics.counter(METRICS.kubelet_evented_pleg_connection_success_count);
  const broke = metrics.counter(METRICS.kubelet_evented_pleg_connection_error_count);
  const latency = metrics.histogram(METRICS.kubelet_evented_pleg_connection_latency_seconds);
  return {
    listing: (before) => {
      const began = clock.monotonic();
      const beganAt: WallMs = clock.wall();
      if (before !== undefined) interval.observe((began - before) / 1000);
      return () => {
        duration.observe((clock.monotonic() - began) / 1000);
        lastSeen.set(Math.floor(beganAt / 1000));
      };
    },
    event: ({ createdAtMs }) => {
      if (createdAtMs !== undefined)
        latency.observe(Math.max(0, clock.wall() - createdAtMs) / 1000);
    },
    discarded: () => discarded.add(),
    streamOpened: () => opened.add(),
    streamBroke: () => broke.add(),
  };
}

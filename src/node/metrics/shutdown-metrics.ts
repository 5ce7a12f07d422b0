/** When the node was last shut down gracefully, as the state of that says. */
import { METRICS } from "../../api/metrics/metrics.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { Files } from "../../outside/host/host.ts";

const STATE_FILE = "graceful_node_shutdown_state";
const MAX_BYTES = 64 * 1024;

/**
 * Reads the state that a kubelet leaves in its root folder when it shuts the node down (nodeshutdown/storage.go). What
 * cannot be read counts as never.
 */
export async function exposeLastShutdown(
  metrics: MetricsRegistry,
  files: Pick<Files, "readText">,
  rootFolder: string,
): Promise<void> {
  const started = metrics.gauge(METRICS.kubelet_graceful_shutdown_start_time_seconds);
  const ended = metrics.gauge(METRICS.kubelet_graceful_shutdown_end_time_seconds);
  const text = await files
    .readText(`${rootFolder}/${STATE_FILE}`, { maxBytes: MAX_BYTES })
    .catch(() => undefined);
  const seconds = (name: string): number => {
    const time = new RegExp(`"${name}"\\s*:\\s*"([^"]+)"`).exec(text ?? "")?.[1] ?? "";
    const ms = Date.parse(time);
    return ms > 0 ? ms / 1000 : 0;
  };
  started.set(seconds("startTime"));
  ended.set(seconds("endTime"));
}

/**
 * Keeps the logs of running containers below their limit. In: pods, sizes of files. Out: rotated files,
 * requests to the runtime to open new ones. Invariant: one log's failure delays only that log.
 */
import { METRICS } from "../api/metrics/metrics.ts";
import { containerLogFile, podPaths } from "../api/pod/pod-paths.ts";
import { parseQuantity, quantityValue } from "../api/text/quantity.ts";
import type { KubeletConfig } from "../config/kubelet-config.ts";
import { retryDelayMs } from "../kit/backoff.ts";
import type { MonotonicMs } from "../kit/clock.ts";
import { inParallel } from "../kit/in-parallel.ts";
import type { MetricsRegistry, Sample } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { PodFiles } from "../outside/host/host.ts";
import type { Outside } from "../outside/outside.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Logs, RunningLog } from "../subsystems/logs/logs.ts";

export interface LogRotationDeps {
  readonly outside: Pick<Outside, "clock" | "log"> & {
    readonly host: { readonly podFiles: Pick<PodFiles, "factsOfAll"> };
  };
  readonly scope: TaskScope;
  readonly pipeline: Pick<Pipeline, "pods">;
  readonly logs: Pick<Logs, "rotate">;
  readonly metrics: MetricsRegistry;
}

/** How often, how large, how many. */
type LogRotationOptions = Pick<
  KubeletConfig,
  | "containerLogMaxSize"
  | "containerLogMaxFiles"
  | "containerLogMaxWorkers"
  | "containerLogMonitorInterval"
  | "podLogsDir"
>;

/** Pause after a failure, longer with each one in a row (container_log_manager.go). */
const RETRY = { initialMs: 10_000, maxMs: 300_000 };

interface Failed {
  readonly failures: number;
  readonly notBefore: MonotonicMs;
}

/** Starts the loop; it ends with the scope. Nothing is done when the size limit is negative. */
export function startLogRotation(options: LogRotationOptions, deps: LogRotationDeps): void {
  const sizes = new Map<string, number>();
  deps.metrics.collected(METRICS.kubelet_container_log_filesystem_used_bytes, () =>
    logSamples(deps.pipeline.pods, sizes),
  );
  const maxBytes = Number(quantityValue(parseQuantity(options.containerLogMaxSize)));
  if (maxBytes < 0) return;
  const { clock } = deps.outside;
  const limits = { maxBytes, maxFiles: options.containerLogMaxFiles };
  const failed = new Map<string, Failed>();
  const rotateOne = async (log: RunningLog, signal: AbortSignal) => {
    try {
      await deps.logs.rotate(log, limits, signal);
      failed.delete(log.containerId);
    } catch (error) {
      if (signal.aborted) return;
      const failures = (failed.get(log.containerId)?.failures ?? 0) + 1;
      const notBefore = (clock.monotonic() + retryDelayMs(failures, RETRY)) as MonotonicMs;
      failed.set(log.containerId, { failures, notBefore });
      deps.outside.log.warn("failed to rotate a container log", { path: log.path, error });
    }
  };
  deps.scope.spawn("rotation of logs", "restart", async (signal) => {
    for (;;) {
      await clock.coalesced.sleep(options.containerLogMonitorInterval, signal);
      const logs = runningLogs(deps.pipeline.pods, options.podLogsDir);
      const ids = new Set(logs.map(({ containerId }) => containerId));
      for (const id of failed.keys()) if (!ids.has(id)) failed.delete(id);
      const due = logs.filter(
        ({ containerId }) => (failed.get(containerId)?.notBefore ?? 0) <= clock.monotonic(),
      );
      for (const id of sizes.keys()) if (!ids.has(id)) sizes.delete(id);
      const large = await largeLogs(due, { maxBytes, sizes }, deps.outside.host.podFiles);
      await inParallel(large, options.containerLogMaxWorkers, async (log) => {
        if (!signal.aborted) await rotateOne(log, signal);
      });
    }
  });
}

/** The logs that running containers write, as large as they were when they were checked last. */
function logSamples(pods: Pipeline["pods"], sizes: ReadonlyMap<string, number>): Sample[] {
  return pods.list().flatMap(({ uid, pod, observed }) =>
    observed.containers.flatMap(({ id, name: container }) => {
      const value = sizes.get(id);
      const { namespace, name } = pod.metadata;
      return value === undefined
        ? []
        : [{ labels: { uid, namespace, pod: name, container }, value }];
    }),
  );
}

/** The logs of all running containers. */
function runningLogs(pods: Pipeline["pods"], logs: string): RunningLog[] {
  return pods.list().flatMap(({ pod, observed }) => {
    const folder = podPaths({ root: "", logs }, pod).logs;
    return observed.containers
      .filter(({ state }) => state === "running")
      .map(({ id, name, restartCount }) => ({
        containerId: id,
        path: `${folder}/${containerLogFile(name, restartCount)}`,
      }));
  });
}

/**
 * The logs that may have to be rotated: all but those that are known to be small enough, asked for in one request.
 * When that fails, a file system does not answer, and each log is measured on its own.
 */
async function largeLogs(
  logs: readonly RunningLog[],
  { maxBytes, sizes }: { readonly maxBytes: number; readonly sizes: Map<string, number> },
  files: Pick<PodFiles, "factsOfAll">,
): Promise<readonly RunningLog[]> {
  if (logs.length === 0) return [];
  try {
    const facts = await files.factsOfAll(logs.map(({ path }) => path));
    for (const [i, { containerId }] of logs.entries())
      sizes.set(containerId, facts[i]?.sizeBytes ?? 0);
    return logs.filter((_, i) => (facts[i]?.sizeBytes ?? maxBytes) >= maxBytes);
  } catch {
    return logs;
  }
}

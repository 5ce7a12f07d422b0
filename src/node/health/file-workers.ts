import type { Clock } from "../../kit/clock.ts";
import type { HealthCheck } from "../../kit/health/health.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { FileWorkerFacts } from "../../outside/host/host.ts";

/** A request that waits longer for a worker: there are too few, or all of them wait. */
const WAITING_LIMIT_MS = 5_000;

/** File systems named in one message. */
const MAX_NAMED = 5;

/**
 * Fails while a file system of a pod does not answer. The node stays Ready: only pods that use it are
 * concerned, and they say so themselves.
 */
export function fileWorkersCheck(
  clock: Pick<Clock, "monotonic">,
  facts: () => FileWorkerFacts,
): HealthCheck {
  return {
    name: "file-workers",
    severity: "warning",
    measure: () => {
      const { unanswered, waitingMs } = facts();
      const [oldest] = unanswered;
      const lagMs = oldest ? clock.monotonic() - oldest.sinceMs : waitingMs;
      if (oldest) return { lagMs, problem: describeUnanswered(unanswered) };
      if (waitingMs <= WAITING_LIMIT_MS) return { lagMs, problem: undefined };
      return { lagMs, problem: "file operations wait for a worker process for more than 5s" };
    },
  };
}

function describeUnanswered(unanswered: FileWorkerFacts["unanswered"]): string {
  const named = unanswered.slice(0, MAX_NAMED).map(({ shown }) => shown);
  const more = unanswered.length - named.length;
  const rest = more > 0 ? ` and ${more} more` : "";
  return `these file systems do not answer: ${named.join(", ")}${rest}`;
}

/** Shows the worker processes in the agent's metrics. */
export function exposeFileWorkers(metrics: MetricsRegistry, facts: () => FileWorkerFacts): void {
  metrics.collected(
    {
      name: "nodelet_file_workers",
      help: "Worker processes for files of pods, by state: ready, late (no progress), stuck (given up, still in a system call).",
      type: "gauge",
    },
    () => {
      const { workers, late, stuck } = facts();
      return [
        { labels: { state: "ready" }, value: workers - late },
        { labels: { state: "late" }, value: late },
        { labels: { state: "stuck" }, value: stuck },
      ];
    },
  );
  metrics.collected(
    {
      name: "nodelet_file_operation_timeouts_total",
      help: "File operations for pods that a file system did not answer in time.",
      type: "counter",
    },
    () => [{ labels: {}, value: facts().timeouts }],
  );
  metrics.collected(
    {
      name: "nodelet_unanswered_file_systems",
      help: "File systems that do not answer and are not asked again for the moment.",
      type: "gauge",
    },
    () => [{ labels: {}, value: facts().unanswered.length }],
  );
}

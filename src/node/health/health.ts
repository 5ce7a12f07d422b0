/**
 * Whether the agent itself is well. Owns: the registry of health checks and those that concern the process
 * as a whole. In: times of the event loop, of the thread pool, of the last listing. Out: problems, for
 * `/healthz`, metrics and the node's Ready condition.
 */
import type { Reading } from "../../kit/cell.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { ageCheck, type HealthCheck, HealthRegistry } from "../../kit/health/health.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Outside } from "../../outside/outside.ts";
import { EventLoopWatch } from "./event-loop.ts";
import { exposeFileWorkers, fileWorkersCheck } from "./file-workers.ts";
import { ThreadPoolWatch } from "./thread-pool.ts";

/** Dependencies for measuring the agent. */
export interface NodeHealthDeps {
  readonly outside: Pick<Outside, "clock" | "log" | "host" | "serving">;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  /** Folder of the agent's own state, for a file operation of no size. */
  readonly rootFolder: string;
  /** When the last full listing of the runtime began. */
  readonly lastListing: Reading<MonotonicMs | undefined>;
}

/** Pause between two measurements of all checks. */
const SAMPLE_PERIOD_MS = 10_000;
/** Three times the pause between full listings where the runtime streams events. */
const LISTING_LIMIT_MS = 90_000;

/** Begins to measure the process; checks of others are added to the registry. */
export function startHealth(deps: NodeHealthDeps): HealthRegistry {
  const { outside, scope, metrics, rootFolder, lastListing } = deps;
  const { clock, log, host, serving } = outside;
  const registry = new HealthRegistry({ clock, log: log.child("health"), metrics });
  const loop = new EventLoopWatch({
    turns: serving && (() => serving.process.loopDelay()),
  });
  const pool = new ThreadPoolWatch({ clock, touch: () => host.files.facts(rootFolder) });
  registry.add(loop.check, pool.check, listingCheck(clock, lastListing));
  const { fileWorkers } = host;
  if (fileWorkers) {
    registry.add(fileWorkersCheck(clock, fileWorkers));
    exposeFileWorkers(metrics, fileWorkers);
  }
  // One timer for all: an agent at rest is woken as seldom as can be.
  scope.spawn("health checks", "restart", async (signal) => {
    for (;;) {
      const dueMs = clock.monotonic() + SAMPLE_PERIOD_MS;
      await clock.sleep(SAMPLE_PERIOD_MS, signal);
      loop.woken(clock.monotonic() - dueMs);
      registry.sample();
      pool.ask();
    }
  });
  return registry;
}

/** The age of the last full listing of the runtime. */
function listingCheck(
  clock: Outside["clock"],
  lastListing: NodeHealthDeps["lastListing"],
): HealthCheck {
  const began = clock.monotonic();
  return ageCheck({
    name: "runtime-listing",
    severity: "warning",
    clock,
    limitMs: LISTING_LIMIT_MS,
    since: () => lastListing.get() ?? began,
    missing: "the runtime has not been listed",
  });
}

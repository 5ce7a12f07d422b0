/**
 * Whether the agent itself is well. Owns: the registry of health checks and those that concern the process
 * as a whole. In: times of the event loop, of the thread pool, of the last listing. Out: problems, for
 * `/healthz`, metrics and the node's Ready condition.
 * Example: `const health = startHealth(deps); health.add(check)`.
 */
import type { Reading } from "../../kit/cell.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { ageCheck, type HealthCheck, HealthRegistry } from "../../kit/health/health.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import { ownCgroup } from "../../kit/proc/own-cgroup.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Outside } from "../../outside/outside.ts";
import type { OwnProcess } from "../../outside/serving.ts";
import { EventLoopWatch } from "./event-loop.ts";
import { exposeFileWorkers, fileWorkersCheck } from "./file-workers.ts";
import { lowestLimit, MEMORY_LIMIT_FILES, MemoryCeiling } from "./memory-ceiling.ts";
import { ProgramPageRelease } from "./program-page-release.ts";
import { RestRelease, SCHEDULER_FILE, waitedSeconds } from "./rest-release.ts";
import { ThreadPoolWatch } from "./thread-pool.ts";

interface NodeHealthDeps {
  readonly outside: Pick<Outside, "clock" | "log" | "host" | "serving">;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  /** Folder of the agent's own state, for a file operation of no size. */
  readonly rootFolder: string;
  /** When the last full listing of the runtime began. */
  readonly lastListing: Reading<MonotonicMs | undefined>;
  /** Whether the whole process is the agent: one that embeds it is not ended for the memory that it takes. */
  readonly ownsProcess: boolean;
}

/** Pause between two measurements of all checks. */
const SAMPLE_PERIOD_MS = 10_000;
/** Three times the pause between full listings where the runtime streams events. */
const LISTING_LIMIT_MS = 90_000;

/** Begins to measure the process; checks of others are added to the registry. */
export function startHealth(deps: NodeHealthDeps): HealthRegistry {
  const { outside, scope, metrics, rootFolder, lastListing, ownsProcess } = deps;
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
  const takeMemory =
    ownsProcess && serving ? watchMemory(outside, serving.process, scope) : () => {};
  // One timer for all: an agent at rest is woken as seldom as can be.
  scope.spawn("health checks", "restart", async (signal) => {
    for (;;) {
      const dueMs = clock.monotonic() + clock.coalesced.delayMs(SAMPLE_PERIOD_MS);
      await clock.coalesced.sleep(SAMPLE_PERIOD_MS, signal);
      loop.woken(clock.monotonic() - dueMs);
      registry.sample();
      pool.ask();
      takeMemory();
    }
  });
  return registry;
}

/**
 * Reads the memory of the process whenever the result is called: gives back what it need not hold, and ends the agent with
 * the reason before its memory runs out. The first reading ends the start, in which V8 puts memory before speed.
 */
function watchMemory(
  { clock, host }: NodeHealthDeps["outside"],
  process: OwnProcess,
  scope: TaskScope,
): () => void {
  const group = ownCgroup(host.readKernel("/proc/self/cgroup"), "memory");
  const limits = group === undefined ? [] : host.cgroups.readNow(group, MEMORY_LIMIT_FILES);
  const ceiling = new MemoryCeiling(lowestLimit(limits));
  const pages = new ProgramPageRelease(process);
  const unused = new RestRelease({
    trim: () => {
      process.trimMalloc();
      process.releaseProgramPages();
      // A worker that does not answer is noticed, and reported, by those who ask it for files.
      host.releaseWorkerMemory?.().catch(() => {});
    },
    compact: () => process.compactHeap(),
  });
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  scope.spawn("memory ceiling", "fail", async (signal) => {
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
    const reason = await promise;
    if (reason !== undefined)
      throw new OutsideError("exhausted", `${reason}: it exits before its memory runs out`);
  });
  let isStarting = true;
  return () => {
    if (isStarting) process.letGarbageGather();
    isStarting = false;
    const memory = process.memory();
    const reason = ceiling.take(memory);
    if (reason !== undefined) resolve(reason);
    pages.take(memory);
    const cpu = {
      usedSeconds: process.cpuSeconds(),
      waitedSeconds: waitedSeconds(host.readKernel(SCHEDULER_FILE)),
    };
    unused.take(memory, cpu, clock.monotonic());
  };
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

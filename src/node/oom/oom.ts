/**
 * Watches OOM kills of the kernel, and reports the victim and which limit was reached. In: the
 * kernel's log, pods. Out: events on pods and on the node, counts. Invariant: what was killed before the
 * agent started is not reported.
 *
 * Example: `startOomWatch({ outside, scope, pipeline, cgroups, events, metrics })`.
 */
import type { OomCounts } from "../../api/figures/oom-counts.ts";
import type { PodUid } from "../../api/observation.ts";
import type { NodeEvents, PodEvents } from "../../api/ports/events.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { KernelLog } from "../../outside/host/host.ts";
import type { Outside } from "../../outside/outside.ts";
import type { Pipeline } from "../../pipeline/pipeline.ts";
import type { Cgroups } from "../../subsystems/cgroups/cgroups.ts";
import { describeKill, reachedLimit } from "./describe-kill.ts";
import { type OomKill, type OomMessages, readOomLines } from "./kernel-lines.ts";

interface OomWatchDeps {
  readonly outside: Pick<Outside, "clock" | "log" | "host">;
  readonly scope: TaskScope;
  readonly pipeline: Pick<Pipeline, "pods">;
  readonly cgroups: Pick<Cgroups, "locate">;
  readonly events: NodeEvents & PodEvents;
  readonly metrics: MetricsRegistry;
  readonly oomCounts: Pick<OomCounts, "add">;
}

/**
 * The kernel's log cannot be watched for new lines. Most kills end a container, so that it is read when a pod has changed,
 * but not again before this time is over. A report whose lines have not all been read is read on after it, too.
 */
const MIN_PAUSE_MS = 1_000;
/** The log is read after this time even when no pod has changed. */
const MAX_PAUSE_MS = 10_000;

const NOTHING: OomMessages = { open: undefined, complete: false, done: [] };

/** Starts the watcher; it ends with the scope. */
export function startOomWatch(deps: OomWatchDeps): void {
  const { outside, scope } = deps;
  const kernelLog = outside.host.openKernelLog?.();
  if (!kernelLog) {
    outside.log.verbose(1, "failed to read the kernel log; OOM kills will not be explained");
    return;
  }
  scope.defer("kernel log", () => kernelLog.close());
  const kills = deps.metrics.counter({
    name: "nodelet_oom_kills_total",
    help: "OOM-killed processes, by whose memory limit was reached.",
  });
  const countKill = (limit: string) => kills.add({ limit });
  scope.spawn("kernel log", "restart", (signal) => follow(kernelLog, deps, countKill, signal));
}

async function follow(
  kernelLog: KernelLog,
  deps: OomWatchDeps,
  countKill: (limit: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = deps.outside;
  const wakeup = new Wakeup();
  const stop = deps.pipeline.pods.subscribe(() => wakeup.wake());
  let messages: OomMessages = NOTHING;
  try {
    while (!signal.aborted) {
      const readAt = clock.monotonic();
      const lines = kernelLog.read();
      messages = readOomLines(messages, lines);
      for (const kill of messages.done) reportKill(kill, deps, countKill);
      // A report without new lines since the last read is complete.
      const isOver = messages.open !== undefined && (messages.complete || lines.length === 0);
      if (messages.open && isOver) reportKill(messages.open, deps, countKill);
      messages = isOver ? NOTHING : { ...messages, done: [] };
      const ms = messages.open ? MIN_PAUSE_MS : MAX_PAUSE_MS;
      await wakeup.wait({ clock: clock.coalesced, ms }, signal);
      const leftMs = readAt + MIN_PAUSE_MS - clock.monotonic();
      if (leftMs > 0) await clock.sleep(leftMs, signal).catch(() => {});
    }
  } finally {
    stop();
  }
}

function reportKill(kill: OomKill, deps: OomWatchDeps, countKill: (limit: string) => void): void {
  const { cgroups, outside } = deps;
  outside.log.warn("process OOM-killed", { ...kill });
  deps.oomCounts.add(kill.limitGroup ?? "/");
  const victim = cgroups.locate(kill.victimGroup);
  const found = victim.kind === "container" && deps.pipeline.pods.get(victim.uid as PodUid);
  if (found && victim.kind === "container") {
    const { containers } = found.observed;
    const name = containers.find(({ id }) => victim.group.includes(id))?.name ?? "";
    const place = kill.limitGroup === undefined ? undefined : cgroups.locate(kill.limitGroup);
    const limit = reachedLimit(place, found.pod, name);
    countKill(limit.kind);
    const message = describeKill(kill, limit);
    const event = { type: "Warning", reason: "OOMKilling", message } as const;
    deps.events.ofPod(found.pod, event, name === "" ? undefined : name);
    return;
  }
  // Other cgroups of the machine that exceed their own limits are of no concern to the agent.
  if (kill.limitGroup !== undefined && kill.victimGroup !== "/") return;
  countKill("node");
  const message = `System OOM encountered, victim process: ${kill.program}, pid: ${kill.pid}`;
  deps.events.ofNode({ type: "Warning", reason: "SystemOOM", message });
}

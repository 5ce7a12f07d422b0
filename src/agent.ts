/** The agent: assembles all modules in the order of their dependencies. */
import type { AgentHooks, AgentOptions } from "./assembly/agent-options.ts";
import { assembleClients } from "./assembly/clients.ts";
import { assembleCluster } from "./assembly/cluster.ts";
import { assembleEviction } from "./assembly/eviction.ts";
import { type AgentStart, assembleFoundation } from "./assembly/foundation.ts";
import { assembleHealth } from "./assembly/health.ts";
import { assembleNode } from "./assembly/node.ts";
import { assemblePipeline } from "./assembly/pipeline.ts";
import { assemblePluginRegistry } from "./assembly/plugin-registry.ts";
import { assemblePodResources } from "./assembly/pod-resources.ts";
import { assemblePodsApi } from "./assembly/pods-api.ts";
import { assembleServer } from "./assembly/server.ts";
import { assembleService } from "./assembly/service.ts";
import { assembleShutdown } from "./assembly/shutdown.ts";
import { assembleSubsystems } from "./assembly/subsystems/subsystems.ts";
import type { WallMs } from "./kit/clock.ts";
import type { HealthRegistry } from "./kit/health/health.ts";
import { MetricsRegistry } from "./kit/metrics.ts";
import { TaskScope } from "./kit/scope.ts";
import type { StateFiles } from "./kit/state/state-files.ts";
import type { NodeCapacity } from "./node/capacity.ts";
import type { VersionResponse } from "./outside/cri/cri.ts";
import type { HostFacts } from "./outside/host/host.ts";
import type { Outside } from "./outside/outside.ts";
import type { Pipeline } from "./pipeline/pipeline.ts";
import type { RunningServer } from "./server/server.ts";
import type { Subsystems } from "./subsystems/subsystems.ts";

export type { AgentHooks, AgentOptions } from "./assembly/agent-options.ts";

/** A running agent. Disposing of it ends its loops and connections, and no container. */
export interface RunningAgent extends AsyncDisposable {
  readonly options: AgentOptions;
  readonly facts: HostFacts;
  readonly capacity: NodeCapacity;
  readonly runtimeVersion: VersionResponse;
  readonly metrics: MetricsRegistry;
  readonly probeMetrics: MetricsRegistry;
  readonly pipeline: Pipeline;
  readonly subsystems: Subsystems;
  /** Problems with the agent's own files. */
  readonly state: StateFiles;
  readonly scope: TaskScope;
  /** Whether the agent itself is well. */
  readonly health: HealthRegistry;
  readonly startedAt: WallMs;
  /** The server, when there is one. */
  readonly served: RunningServer | undefined;
  /** Resolves when `leave` is aborted, rejects when something the agent cannot do without has failed. */
  untilLeaving(leave: AbortSignal): Promise<void>;
}

/**
 * Starts the agent on `outside`: reads the machine and lists what runs, then starts the sources.
 * Resolves when pods are being managed. Throws `UsageError` when configuration and machine do not
 * fit together.
 */
export async function launchAgent(
  options: AgentOptions,
  outside: Outside,
  hooks: AgentHooks = {},
): Promise<RunningAgent> {
  const metrics = new MetricsRegistry();
  const taskErrors = metrics.counter({
    name: "nodelet_task_errors_total",
    help: "Background tasks that threw, by task.",
  });
  const scope = new TaskScope("agent", {
    clock: outside.clock,
    log: outside.log,
    onTaskError: (task) => taskErrors.add({ task: taskFamily(task) }),
  });
  const giveUp = () => void scope[Symbol.asyncDispose]();
  hooks.leave?.addEventListener("abort", giveUp, { once: true });
  try {
    hooks.leave?.throwIfAborted();
    return await assembleAgent({ options, hooks, outside, scope, metrics });
  } catch (error) {
    await scope[Symbol.asyncDispose]();
    throw error;
  } finally {
    hooks.leave?.removeEventListener("abort", giveUp);
  }
}

async function assembleAgent(start: AgentStart): Promise<RunningAgent> {
  const base = await assembleFoundation(start);
  const api = assembleClients(base);
  const subsystems = await assembleSubsystems(base, api);
  assemblePluginRegistry(base, subsystems);
  assemblePodResources(base, subsystems);
  const health = assembleHealth(base, subsystems);
  const cluster = assembleCluster(base, api, { subsystems, health });
  const pipeline = await assemblePipeline(base, { subsystems, health, cluster });
  assemblePodsApi(base, pipeline);
  assembleShutdown(base, { subsystems, pipeline, health, cluster });
  const eviction = assembleEviction(base, { subsystems, pipeline });
  const served = await assembleServer(base, { subsystems, health, cluster, pipeline, eviction });
  // After the server: the first turn of these loops starts programs and reads the kernel's log, which nobody waits for.
  await assembleNode(base, { subsystems, pipeline });
  assembleService(base, { subsystems, pipeline, health, cluster });
  const { options, scope, metrics, probeMetrics, state, facts, capacity, runtimeVersion } = base;
  return {
    options,
    scope,
    metrics,
    probeMetrics,
    state,
    facts,
    capacity,
    runtimeVersion,
    subsystems,
    health,
    pipeline,
    served,
    startedAt: base.startedAt,
    untilLeaving: (leave) => scope.untilFailureOr(leave),
    [Symbol.asyncDispose]: () => scope[Symbol.asyncDispose](),
  };
}

/** `pod <uid>` is one family: names of metrics must not grow with the pods. */
function taskFamily(task: string): string {
  return task.startsWith("pod ") ? "pod" : task;
}

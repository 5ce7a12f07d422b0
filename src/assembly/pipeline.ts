import { declaredFeatures } from "../config/gates/declared-features.ts";
import { gatesInForce } from "../config/gates/feature-gates.ts";
import type { HealthRegistry } from "../kit/health/health.ts";
import { nodeAttributes } from "../node/cluster.ts";
import { exposePods } from "../node/metrics/pod-metrics.ts";
import { measureStarts } from "../node/metrics/pod-starts.ts";
import { exposeResizes } from "../node/metrics/resize-metrics.ts";
import { ClusterPods } from "../pipeline/cluster/cluster.ts";
import {
  createPipeline,
  type Pipeline,
  type PipelineDeps,
  startPipeline,
} from "../pipeline/pipeline.ts";
import { pipelineOptionsOf } from "../pipeline/pipeline-options.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import type { Cluster } from "./cluster.ts";
import type { Foundation } from "./foundation.ts";
import { assembleTopology } from "./topology.ts";

interface PipelineParts {
  readonly subsystems: Subsystems;
  readonly health: HealthRegistry;
  readonly cluster: Cluster | undefined;
}

/** The way of pods; resolves when the runtime was listed and the sources speak. */
export async function assemblePipeline(base: Foundation, parts: PipelineParts): Promise<Pipeline> {
  const { options, hooks, outside, scope, metrics } = base;
  const { subsystems, health, cluster } = parts;
  const { sources = [] } = hooks;
  const deps = pipelineDeps(base, parts);
  const pipeline = createPipeline(
    pipelineOptionsOf(
      {
        ...options,
        cgroupVersion: outside.host.cgroups.version,
        isAlone: hooks.ownApi !== undefined,
      },
      cluster ? [cluster.pods, ...sources] : sources,
    ),
    deps,
  );
  if (hooks.onStatus) scope.defer("status sink", pipeline.statuses.subscribe(hooks.onStatus));
  base.hostIps.subscribe(() => pipeline.statuses.updateAll(pipeline.pods.list()));
  const { pods } = pipeline;
  exposePods(metrics, {
    pods,
    ...(cluster ? { mirrors: () => cluster.pods.mirrors().length } : {}),
  });
  exposeResizes(metrics, { pods, clock: outside.clock });
  scope.defer("start times", measureStarts(metrics, { ...pipeline, clock: outside.clock }));
  for (const check of pipeline.sources.healthChecks) health.add(check);
  if (cluster) startClusterPods(base, pipeline, cluster);
  await startPipeline(pipeline, deps);
  subsystems.runtime.followPods();
  return pipeline;
}

/** Brings statuses and mirror pods to the API. */
function startClusterPods(
  { outside, scope, metrics, node }: Foundation,
  { pods, statuses, seen }: Pipeline,
  { clients: { client }, pods: api }: Cluster,
): void {
  const { clock, random, log } = outside;
  const { reachable } = client.transport;
  const clusterPods = new ClusterPods({
    client,
    api,
    reachable,
    node,
    clock,
    random,
    log,
    metrics,
    scope,
    pods,
    statuses,
    seen,
  });
  clusterPods.start();
}

function pipelineDeps(base: Foundation, { subsystems, cluster }: PipelineParts): PipelineDeps {
  const { options, hooks, outside, scope, state, metrics, capacity, runtimeVersion } = base;
  const { podFacts, news, node, pressure } = base;
  const gates = gatesInForce(options.config);
  const nodeInfo = {
    allocatable: capacity.allocatable,
    pods: capacity.pods,
    runtimeClasses: cluster !== undefined,
    waitsForUnserved: cluster !== undefined && hooks.ownApi === undefined,
    allowedUnsafeSysctls: options.config.allowedUnsafeSysctls,
    kernelVersion: base.facts.kernelVersion,
  };
  return {
    ...subsystems,
    topology: assembleTopology(base, subsystems),
    outside,
    scope,
    state,
    metrics,
    podFacts,
    news,
    nodeInfo: () => ({
      ...nodeInfo,
      ...nodeAttributes(options.nodeName, node.get()),
      pressure: pressure.get(),
      shuttingDown: base.shuttingDown.get(),
      declaredFeatures: declaredFeatures(gates, subsystems.runtime.watch.health.get()),
    }),
    hostIps: () => base.hostIps.get(),
    showsDevices: gates.isEnabled("ResourceHealthStatus"),
    showsPodResources: gates.isEnabled("InPlacePodLevelResourcesVerticalScaling"),
    runtimeName: () => runtimeVersion.runtimeName,
    ...(hooks.admit ? { admit: hooks.admit } : {}),
    isSpared: (namespace, name) => hooks.ownApi?.isBrokenPod(namespace, name) ?? false,
  };
}

import type { HealthRegistry } from "../kit/health/health.ts";
import { withDevices } from "../node/capacity.ts";
import { readReadiness } from "../node/read-readiness.ts";
import { decideReadiness, runtimeCause } from "../node/readiness.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import { delegatedTo, type RunningServer, type ServedNode, startServer } from "../server/server.ts";
import type { Eviction } from "../subsystems/eviction/eviction.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import type { Cluster } from "./cluster.ts";
import type { Foundation } from "./foundation.ts";

interface ServerParts {
  readonly subsystems: Subsystems;
  readonly health: HealthRegistry;
  readonly cluster: Cluster | undefined;
  readonly pipeline: Pipeline;
  readonly eviction: Eviction;
}

/** The ports and the socket, where there are any to open. */
export async function assembleServer(
  base: Foundation,
  { subsystems, health, cluster, pipeline, eviction }: ServerParts,
): Promise<RunningServer | undefined> {
  const { options, hooks, outside, scope, capacity, runtimeVersion } = base;
  const { server, config, nodeName } = options;
  const { serving, clock, log, host, net } = outside;
  if (!server || !serving) return undefined;
  const { startedAt, metrics, probeMetrics, state, shuttingDown } = base;
  const runtime = `${runtimeVersion.runtimeName} ${runtimeVersion.runtimeVersion}`;
  const node: ServedNode = {
    nodeName,
    architecture: base.facts.architecture,
    config,
    startedAt,
    metrics,
    probeMetrics,
    state,
    subsystems,
    health,
    pipeline,
    eviction,
    shuttingDown,
    reach: { net, files: host.files },
    readiness: () => {
      const facts = readReadiness({
        clock,
        watch: subsystems.runtime.watch,
        health: health.problems,
        shuttingDown,
      });
      return { problems: decideReadiness(facts), runtime: runtimeCause(facts) };
    },
    ...(hooks.ownApi ? { ownApi: hooks.ownApi } : {}),
    ...(cluster ? { apiClient: cluster.clients.reviews } : {}),
    get addresses() {
      return base.hostIps.get();
    },
    versions: { ...server.versions, runtime },
    get amounts() {
      return withDevices(capacity, subsystems.devices.capacity.get());
    },
  };
  const asked = cluster && {
    delegated: delegatedTo(config, { client: cluster.clients.reviews, clock }),
    issued: cluster.serving,
  };
  return await startServer(server, {
    node,
    serving,
    files: host.files,
    clock,
    log,
    scope,
    ...(outside.tracer ? { tracer: outside.tracer } : {}),
    random: outside.random,
    ...asked,
  });
}

import { hostIpsOfNode } from "./api/node-addresses.ts";
import type { PodUid } from "./api/observation.ts";
import { declaredFeatures } from "./config/declared-features.ts";
import { deriveEvictionHard } from "./config/derive.ts";
import { resolveGates } from "./config/feature-gates.ts";
import type { KubeletConfig } from "./config/kubelet-config.ts";
import type { Reading } from "./kit/cell.ts";
import type { WallMs } from "./kit/clock.ts";
import type { HealthRegistry } from "./kit/health.ts";
import { MetricsRegistry } from "./kit/metrics.ts";
import { TaskScope } from "./kit/scope.ts";
import type { StateFiles } from "./kit/state-files.ts";
import { awaitRuntime } from "./node/await-runtime.ts";
import { type NodeCapacity, nodeCapacity, withDevices } from "./node/capacity.ts";
import {
  type ClusterClients,
  type ClusterOptions,
  clientPorts,
  connectCluster,
  nodeFace,
} from "./node/cluster.ts";
import { startHealth } from "./node/health/health.ts";
import { type JoinedCluster, joinCluster } from "./node/join-cluster.ts";
import { prepareKernel } from "./node/kernel/kernel.ts";
import { startNode } from "./node/node.ts";
import { startState } from "./node/open-state.ts";
import { exposePods } from "./node/pod-metrics.ts";
import { sayStarting } from "./node/say-starting.ts";
import type { VersionResponse } from "./outside/cri/cri.ts";
import type { HostFacts } from "./outside/host/host.ts";
import type { Outside } from "./outside/outside.ts";
import {
  activePods,
  createPipeline,
  type Pipeline,
  type PipelineDeps,
  startPipeline,
  wantedPods,
} from "./pipeline/pipeline.ts";
import { type DeadContainerLimits, pipelineOptionsOf } from "./pipeline/pipeline-options.ts";
import type { Admit } from "./pipeline/pods/pods.ts";
import type { PodSource } from "./pipeline/sources/sources.ts";
import type { StatusSink } from "./pipeline/status/status.ts";
import {
  delegatedTo,
  type RunningServer,
  type ServerOptions,
  startServer,
} from "./server/server.ts";
import type { EventApi, EventPolicy } from "./subsystems/events/events.ts";
import type { DeviceSettings } from "./subsystems/open-devices.ts";
import type { OwnImageSettings } from "./subsystems/open-images.ts";
import type { ProbesOptions } from "./subsystems/probes/probes.ts";
import { type SubsystemDeps, type Subsystems, startSubsystems } from "./subsystems/subsystems.ts";

/** What the agent is told beside its configuration. */
export interface AgentOptions {
  readonly config: KubeletConfig;
  readonly nodeName: string;
  /** Folder of the agent's state (`--root-dir`). */
  readonly rootFolder: string;
  /** Grace of pods that run but nobody wants; `own` gives each what its spec said. */
  readonly orphanGraceSeconds?: number | "own";
  /** Ended attempts that are kept; default one of each container. */
  readonly deadContainers?: DeadContainerLimits;
  /** Addresses of the node, primary first; found on the machine when left out. */
  readonly nodeIps?: readonly string[];
  /** How events are treated; steps of life are protected unless told otherwise. */
  readonly events?: EventPolicy;
  /** How long pods wait for device plugins, and when devices are given back. */
  readonly devices?: DeviceSettings;
  /** Rules for keeping images, and where credentials for registries are. */
  readonly images?: OwnImageSettings;
  /** Limits of probes, where they differ from the usual ones. */
  readonly probes?: Partial<ProbesOptions>;
  /** Ports and socket; the agent serves nothing when left out. */
  readonly server?: ServerOptions & {
    /** Versions of nodelet and of the Kubernetes it follows, e.g. `0.1.0` and `v1.36.2`. */
    readonly versions: { readonly nodelet: string; readonly kubernetes: string };
  };
}

/** What an embedder may add. */
export interface AgentHooks {
  /** Asked after the agent's own admission rules agreed. */
  readonly admit?: Admit;
  /** Pods beside those of the manifests. */
  readonly sources?: readonly PodSource[];
  /** Told of every status that changed. */
  readonly onStatus?: StatusSink;
  /** Where events are written to; without it they stay on the node. */
  readonly eventApi?: EventApi;
  /** The cluster to be a node of; without it the node is on its own. */
  readonly cluster?: ClusterOptions;
  /** The API that the node itself serves, where it is its own cluster. */
  readonly ownApi?: {
    /** Why it does not run; undefined when it does. */
    readonly problem: Reading<string | undefined>;
    /** Whether the pod's object was lost to damage: what runs of such a pod is not ended. */
    isBrokenPod(namespace: string, name: string): boolean;
  };
  /** The state files, where somebody has opened some of them before. */
  readonly state?: StateFiles;
  /** Gives up starting; once the agent runs, disposing of it is what ends it. */
  readonly leave?: AbortSignal;
}

/** A running agent. Disposing of it ends its loops and connections, and no container. */
export interface Agent extends AsyncDisposable {
  readonly options: AgentOptions;
  readonly facts: HostFacts;
  readonly capacity: NodeCapacity;
  readonly runtimeVersion: VersionResponse;
  readonly metrics: MetricsRegistry;
  readonly probeMetrics: MetricsRegistry;
  readonly pipeline: Pipeline;
  readonly subsystems: Subsystems;
  /** What is wrong with the agent's own files. */
  readonly state: StateFiles;
  readonly scope: TaskScope;
  /** Whether the agent itself is well. */
  readonly health: HealthRegistry;
  readonly startedAt: WallMs;
  /** Where it listens, when it serves. */
  readonly served: RunningServer | undefined;
  /** Resolves when `leave` is aborted, rejects when something the agent cannot do without has failed. */
  untilLeaving(leave: AbortSignal): Promise<void>;
}

/**
 * Starts the agent on `outside`: looks at the machine and at what runs, then lets the sources speak.
 * Resolves when pods are being looked after. Throws `UsageError` when configuration and machine do not
 * fit together.
 */
export async function startAgent(
  options: AgentOptions,
  outside: Outside,
  hooks: AgentHooks = {},
): Promise<Agent> {
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
    const core = await startCore(options, outside, hooks, { scope, metrics });
    const { joined, ownApi, ...rest } = core;
    const served = await serve(core, outside, hostIpsOf(core));
    return {
      ...rest,
      served,
      untilLeaving: (leave) => scope.untilFailureOr(leave),
      [Symbol.asyncDispose]: () => scope[Symbol.asyncDispose](),
    };
  } catch (error) {
    await scope[Symbol.asyncDispose]();
    throw error;
  } finally {
    hooks.leave?.removeEventListener("abort", giveUp);
  }
}

/** The agent without its ports. */
type AgentCore = Omit<Agent, "served" | "untilLeaving" | typeof Symbol.asyncDispose> & {
  readonly joined: JoinedCluster | undefined;
  readonly ownApi: AgentHooks["ownApi"];
};

/** Looks at the machine, builds the rooms and sets pods going. */
async function startCore(
  options: AgentOptions,
  outside: Outside,
  hooks: AgentHooks,
  { scope, metrics }: { readonly scope: TaskScope; readonly metrics: MetricsRegistry },
): Promise<AgentCore> {
  const startedAt = outside.clock.wall();
  const probeMetrics = new MetricsRegistry();
  const facts = await outside.host.facts();
  prepareKernel(options.config, outside);
  const state = await startState(options.rootFolder, { outside, scope, metrics }, hooks.state);
  const capacity = await capacityOf(options, outside, facts);
  const runtimeVersion = await awaitRuntime(outside, scope.signal);
  const pipelineOf: LatePipeline = { current: undefined, node: undefined };
  const clients =
    hooks.cluster && connectCluster(hooks.cluster, options.config, { outside, scope, metrics });
  const subsystems = await startSubsystems(options, {
    outside,
    scope,
    state,
    metrics,
    probeMetrics,
    facts,
    allocatable: capacity.allocatable,
    ...clientPorts(clients, hooks.eventApi),
    ...pipelinePorts(pipelineOf),
  });
  const { rootFolder } = options;
  const { lastListing } = subsystems.runtime.watch;
  const health = startHealth({ outside, scope, metrics, rootFolder, lastListing });
  const found = { facts, capacity, runtimeVersion, subsystems, scope, state, health };
  const parts = { ...found, outside, hooks };
  const joined = clients && join(options, { ...parts, clients, metrics });
  pipelineOf.node = joined?.node;
  const deps = pipelineDeps(options, { ...parts, joined });
  const settings = pipelineOptionsOf(
    { ...options, cgroupVersion: outside.host.cgroups.version },
    sourcesOf(hooks, joined),
  );
  const pipeline = createPipeline(settings, deps);
  pipelineOf.current = pipeline;
  if (hooks.onStatus) scope.defer("status sink", pipeline.statuses.subscribe(hooks.onStatus));
  exposePods(metrics, pipeline);
  health.add(...pipeline.sources.healthChecks);
  joined?.pods.join(pipeline);
  await startPipeline(pipeline, deps);
  subsystems.runtime.start();
  startNode(
    { roots: settings.roots, config: options.config },
    { outside, scope, pipeline, metrics, ...subsystems },
  );
  sayStarting(subsystems.events, outside.host, facts);
  const { ownApi } = hooks;
  return { ...found, options, metrics, probeMetrics, pipeline, startedAt, joined, ownApi };
}

/** Makes the node a part of its cluster. */
function join(
  { config, nodeName, server, nodeIps: givenIps }: AgentOptions,
  parts: PipelineParts & { readonly clients: ClusterClients; readonly metrics: MetricsRegistry },
): JoinedCluster {
  const { hooks, subsystems, facts, capacity } = parts;
  const cluster = hooks.cluster as ClusterOptions;
  return joinCluster(
    { nodeName, config, cluster, givenIps, certFolder: server?.certFolder },
    {
      ...parts,
      ...subsystems,
      hostIps: () => givenIps ?? facts.addresses.slice(0, 1),
      amounts: () => withDevices(capacity, subsystems.devices.capacity.get()),
      pressure: () => ({ memory: false, disk: false, pid: false }),
      wakeOn: [subsystems.devices.capacity],
    },
  );
}

async function capacityOf(
  { rootFolder, config }: AgentOptions,
  { host }: Outside,
  facts: HostFacts,
): Promise<NodeCapacity> {
  const storage = await host.diskUsage(rootFolder);
  const evictionHard = deriveEvictionHard(config);
  return nodeCapacity(facts, storage?.capacityBytes ?? 0, { ...config, evictionHard });
}

type PipelinePorts = Pick<
  SubsystemDeps,
  | ("onFound" | "isBusy" | "onVerdict" | "podOf" | "activePods" | "onDevices" | "pods")
  | ("wantedPods" | "onImageProgress" | "advertised" | "nodeLabels")
>;

/** What is built after the subsystems, and spoken to by them. */
interface LatePipeline {
  current: Pipeline | undefined;
  node: JoinedCluster["node"] | undefined;
}

/** What subsystems say to the pipeline, which is built after them out of them. */
function pipelinePorts(pipelineOf: Readonly<LatePipeline>): PipelinePorts {
  return {
    onFound: (pods) => pipelineOf.current?.pods.found(pods),
    isBusy: (uid) => pipelineOf.current?.pods.get(uid)?.sight === "acting",
    onVerdict: ({ podUid, container, containerId, kind, result }) =>
      pipelineOf.current?.pods.post(podUid as PodUid, {
        kind: "probed",
        container,
        containerId,
        probe: kind,
        result,
      }),
    podOf: (uid) => pipelineOf.current?.pods.get(uid)?.pod,
    advertised: (resource) => pipelineOf.node?.get()?.status?.capacity?.[resource] !== undefined,
    nodeLabels: () => pipelineOf.node?.get()?.metadata?.labels,
    activePods: () => (pipelineOf.current ? activePods(pipelineOf.current.pods) : []),
    wantedPods: () => (pipelineOf.current ? wantedPods(pipelineOf.current.pods) : []),
    onImageProgress: (pod, container, message) =>
      pipelineOf.current?.pods.post((pod.metadata?.uid ?? "") as PodUid, {
        kind: "progress",
        container,
        message,
      }),
    onDevices: (uid, what) => {
      if (what === "admission") pipelineOf.current?.pods.reconsider(uid);
      else pipelineOf.current?.pods.post(uid, { kind: "tick" });
    },
    pods: () => pipelineOf.current?.pods.list() ?? [],
  };
}

function hostIpsOf({ options, facts }: Pick<AgentCore, "options" | "facts">): readonly string[] {
  return options.nodeIps ?? facts.addresses.slice(0, 1);
}

/** Opens the ports and the socket, where there are any to open. */
async function serve(
  agent: AgentCore,
  { clock, log, host, serving }: Outside,
  addresses: readonly string[],
): Promise<RunningServer | undefined> {
  const { options, capacity, runtimeVersion, scope, joined } = agent;
  const { server, config, nodeName } = options;
  if (!server || !serving) return undefined;
  const runtime = `${runtimeVersion.runtimeName} ${runtimeVersion.runtimeVersion}`;
  const { ownApi, ...shown } = agent;
  const node = {
    ...shown,
    ...(ownApi ? { ownApi } : {}),
    nodeName,
    addresses,
    config,
    versions: { ...server.versions, runtime },
    get amounts() {
      return withDevices(capacity, agent.subsystems.devices.capacity.get());
    },
  };
  const asked = joined && {
    delegated: delegatedTo(config, { client: joined.clients.reviews, clock }),
    issued: joined.serving,
  };
  return await startServer(server, {
    node,
    serving,
    files: host.files,
    clock,
    log,
    scope,
    ...asked,
  });
}

/** Sources beside the manifests. */
function sourcesOf(
  { sources = [] }: AgentHooks,
  joined: JoinedCluster | undefined,
): readonly PodSource[] {
  return joined ? [joined.pods.source, ...sources] : sources;
}

interface PipelineParts {
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly health: HealthRegistry;
  readonly state: StateFiles;
  readonly subsystems: Subsystems;
  readonly capacity: NodeCapacity;
  readonly facts: HostFacts;
  readonly runtimeVersion: VersionResponse;
  readonly hooks: AgentHooks;
}

function pipelineDeps(
  options: AgentOptions,
  parts: PipelineParts & { readonly joined: JoinedCluster | undefined },
): PipelineDeps {
  const { outside, scope, state, capacity, facts, runtimeVersion, hooks, joined } = parts;
  const { gates } = resolveGates(options.config.featureGates);
  const room = {
    allocatable: capacity.allocatable,
    pods: capacity.pods,
    runtimeClasses: joined !== undefined,
    waitsForUnserved: joined !== undefined && hooks.ownApi === undefined,
    allowedUnsafeSysctls: options.config.allowedUnsafeSysctls,
    declaredFeatures: declaredFeatures(gates),
  };
  return {
    ...parts.subsystems,
    outside,
    scope,
    state,
    room: () => ({ ...room, ...nodeFace(options.nodeName, joined?.node.get()) }),
    hostIps: () => hostIpsOfNode(joined?.node.get()) ?? hostIpsOf({ options, facts }),
    showsDevices: gates.isEnabled("ResourceHealthStatus"),
    runtimeName: () => runtimeVersion.runtimeName,
    ...(hooks.admit ? { admit: hooks.admit } : {}),
    isSpared: (namespace, name) => hooks.ownApi?.isBrokenPod(namespace, name) ?? false,
  };
}

/** `pod <uid>` is one family: names of metrics must not grow with the pods. */
function taskFamily(task: string): string {
  return task.startsWith("pod ") ? "pod" : task;
}

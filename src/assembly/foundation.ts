/**
 * Created before every module: the machine, the agent's own files, and what modules share. Facts have one
 * writer: `podFacts` the pipeline, `node` the heartbeat, `pressure` eviction, `shuttingDown` the shutdown, `oomCounts` the OOM watcher. News have one reader: the pipeline.
 */
import { OomCounts } from "../api/figures/oom-counts.ts";
import type { Node } from "../api/generated/types.ts";
import type { PodUid } from "../api/observation.ts";
import { isSameFact, type PodFact } from "../api/pod-facts.ts";
import { newsKey, type PodNews } from "../api/pod-news.ts";
import { Cell, type Reading } from "../kit/cell.ts";
import { CellMap } from "../kit/cell-map.ts";
import type { WallMs } from "../kit/clock.ts";
import { MetricsRegistry } from "../kit/metrics.ts";
import type { TaskScope } from "../kit/scope.ts";
import type { StateFiles } from "../kit/state/state-files.ts";
import { Topic } from "../kit/topic.ts";
import { followHostIps, type NodeAddresses, openAddresses } from "../node/addresses/addresses.ts";
import { awaitRuntime } from "../node/await-runtime.ts";
import type { NodeCapacity } from "../node/capacity.ts";
import { prepareKernel } from "../node/kernel/kernel.ts";
import { limitOpenFiles } from "../node/kernel/open-files.ts";
import { measureCapacity } from "../node/measure-capacity.ts";
import { startState } from "../node/open-state.ts";
import { shareRootFolder } from "../node/root-folder.ts";
import { lockRoot } from "../node/root-lock.ts";
import type { VersionResponse } from "../outside/cri/cri.ts";
import type { HostFacts } from "../outside/host/host.ts";
import type { Outside } from "../outside/outside.ts";
import type { PressureCondition } from "../subsystems/eviction/eviction.ts";
import type { AgentHooks, AgentOptions } from "./agent-options.ts";

/** Arguments of the agent's start. */
export interface AgentStart {
  readonly options: AgentOptions;
  readonly hooks: AgentHooks;
  readonly outside: Outside;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
}

/** Shared parts that every module is assembled from. */
export interface Foundation extends AgentStart {
  readonly startedAt: WallMs;
  /** The registry behind `/metrics/probes`. */
  readonly probeMetrics: MetricsRegistry;
  readonly state: StateFiles;
  readonly facts: HostFacts;
  readonly capacity: NodeCapacity;
  /** Addresses of the node as it finds them. */
  readonly addresses: NodeAddresses;
  /** Addresses of the node, primary first: those of its object, else those it finds. */
  readonly hostIps: Reading<readonly string[]>;
  readonly runtimeVersion: VersionResponse;
  /** Facts about pods, for all modules. */
  readonly podFacts: CellMap<PodUid, PodFact>;
  /** News about pods from all modules. */
  readonly news: Topic<PodNews>;
  /** The node's own object; undefined as long as the API has none, and where there is no API server. */
  readonly node: Cell<Node | undefined>;
  /** The pressure that the node is under, in the order of the conditions. */
  readonly pressure: Cell<readonly PressureCondition[]>;
  /** Whether the machine is going down, and pods are ended for it. */
  readonly shuttingDown: Cell<boolean>;
  /** How often memory ran out, by cgroup. */
  readonly oomCounts: OomCounts;
}

/** News that wait while the pipeline is not there yet; of one kind about one pod mostly only the latest does. */
const MAX_WAITING_NEWS = 10_000;

/** Reads the facts of the machine and opens the agent's own files; resolves when the runtime answers. */
export async function assembleFoundation(start: AgentStart): Promise<Foundation> {
  const { options, hooks, outside, scope, metrics } = start;
  const startedAt = outside.clock.wall();
  if (!hooks.state) {
    const lock = await lockRoot(options, outside, scope.signal);
    scope.defer("lock of the root folder", () => lock[Symbol.dispose]());
  }
  const facts = await outside.host.facts();
  prepareKernel(options.config, outside);
  const state = await startState(options.rootFolder, { outside, scope, metrics }, hooks.state);
  // A program, the file worker and the runtime: none of them needs what another one answers.
  const [capacity, runtimeVersion] = await Promise.all([
    measureCapacity(options, outside, facts),
    awaitRuntime(outside, scope.signal),
    shareRootFolder(options.rootFolder, outside),
    limitOpenFiles(options.config.maxOpenFiles, outside, scope.signal),
  ]);
  const node = new Cell<Node | undefined>(undefined);
  const addresses = openAddresses(options, outside, scope);
  return {
    ...start,
    startedAt,
    state,
    facts,
    capacity,
    runtimeVersion,
    addresses,
    node,
    hostIps: followHostIps(addresses.ips, node),
    probeMetrics: new MetricsRegistry(),
    podFacts: new CellMap(isSameFact),
    news: new Topic({ limit: MAX_WAITING_NEWS, coalesce: newsKey }),
    pressure: new Cell<readonly PressureCondition[]>([]),
    shuttingDown: new Cell(false),
    oomCounts: new OomCounts(),
  };
}

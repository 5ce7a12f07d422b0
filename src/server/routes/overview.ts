import type { ResourceAmounts } from "../../api/pod/pod-resources.ts";
import type { OwnProcess } from "../../outside/serving.ts";
import { listProblems, type ServedNode } from "../served-node.ts";

/** Something the node depends on. */
interface OverviewCondition {
  readonly type:
    | "RuntimeReady"
    | "NetworkReady"
    | "LocalAPIReady"
    | "SourcesSeen"
    | "AgentHealthy"
    | "NotShuttingDown";
  readonly status: "True" | "False";
  /** Why not, from the failing check. */
  readonly message: string;
}

/** Amounts in whole units; what is not listed here stands in the node's status. */
interface OverviewAmounts {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly ephemeralStorageBytes: number;
  /** Most pods at once. */
  readonly pods: number;
  /** Devices by resource; left out where there are none. */
  readonly devices?: Readonly<Record<string, number>>;
}

/** The node on one page; the shape of `/nodelet/v1/overview` (docs/server.md). */
export interface Overview {
  readonly version: string;
  readonly kubernetesVersion: string;
  readonly node: string;
  readonly runtime: string;
  readonly addresses: readonly string[];
  /** When the agent began, Unix milliseconds. */
  readonly startedAtMs: number;
  readonly ready: boolean;
  /** Why it is not ready; empty when it is. */
  readonly why: string;
  readonly conditions: readonly OverviewCondition[];
  readonly capacity: OverviewAmounts;
  readonly allocatable: OverviewAmounts;
  readonly pods: { readonly total: number; readonly byPhase: Readonly<Record<string, number>> };
  readonly containersRunning: number;
  /** Manifests that cannot be used. */
  readonly problems: number;
  /** Health checks of the agent that fail, as in `/healthz?verbose`; not each makes the node not ready. */
  readonly failingChecks: readonly { readonly name: string; readonly problem: string }[];
  /** What the runtime says of settings of its own that a later version of it will not support. */
  readonly runtimeDeprecations: readonly string[];
  /** Resource usage of the agent. */
  readonly agent: {
    readonly cpuSeconds: number;
    readonly residentBytes: number;
    readonly loopDelayP99Seconds: number;
  };
}

/** The node as it is now. */
export function readOverview(node: ServedNode, own: OwnProcess): Overview {
  const { versions, amounts, pipeline } = node;
  const conditions = readConditions(node);
  const failing = conditions.find(({ status }) => status === "False");
  const records = pipeline.pods.list();
  const running = records.flatMap(({ observed }) =>
    observed.containers.filter(({ state }) => state === "running"),
  );
  const { cpuSeconds, residentBytes } = own.usage();
  return {
    version: versions.nodelet,
    kubernetesVersion: versions.kubernetes,
    node: node.nodeName,
    runtime: versions.runtime,
    addresses: node.addresses,
    startedAtMs: node.startedAt,
    ready: failing === undefined,
    why: failing ? `${failing.type}: ${failing.message}` : "",
    conditions,
    capacity: shown(amounts.capacity, amounts.pods),
    allocatable: shown(amounts.allocatable, amounts.pods),
    pods: { total: records.length, byPhase: countPhases(node) },
    containersRunning: running.length,
    problems: listProblems(node).length,
    failingChecks: node.health.problems.get().map(({ name, problem }) => ({ name, problem })),
    runtimeDeprecations: node.subsystems.runtime.watch.health.get().deprecations,
    agent: {
      cpuSeconds,
      residentBytes,
      loopDelayP99Seconds: own.loopDelay().p99Seconds,
    },
  };
}

function readConditions({
  pipeline,
  subsystems,
  ownApi,
  readiness,
}: ServedNode): readonly OverviewCondition[] {
  const health = subsystems.runtime.watch.health.get();
  const condition = (
    type: OverviewCondition["type"],
    holds: boolean,
    message: string,
  ): OverviewCondition => ({
    type,
    status: holds ? "True" : "False",
    message: holds ? "" : message,
  });
  const api = ownApi?.problem.get();
  const { problems, runtime } = readiness();
  const causes = (kind: (typeof problems)[number]["kind"]) =>
    problems.filter((problem) => problem.kind === kind).map(({ cause }) => cause);
  const runtimeProblem = runtime ?? causes("runtime")[0];
  const agent = causes("agent");
  const [shutdown] = causes("shutdown");
  return [
    condition("RuntimeReady", runtimeProblem === undefined, runtimeProblem ?? ""),
    condition("NetworkReady", health.networkReady, health.networkMessage || "no pod network"),
    ...(agent.length > 0 ? [condition("AgentHealthy", false, agent.join("; "))] : []),
    ...(ownApi ? [condition("LocalAPIReady", api === undefined, api ?? "")] : []),
    condition("SourcesSeen", pipeline.seen.get(), "not every source of pods has answered yet"),
    ...(shutdown ? [condition("NotShuttingDown", false, shutdown)] : []),
  ];
}

function shown(amounts: ResourceAmounts, pods: number): OverviewAmounts {
  const { cpuMilli, memoryBytes, ephemeralStorageBytes, extended } = amounts;
  const devices = extended.size === 0 ? {} : { devices: Object.fromEntries(extended) };
  return { cpuMilli, memoryBytes, ephemeralStorageBytes, pods, ...devices };
}

function countPhases({ pipeline }: ServedNode): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status } of pipeline.statuses.list()) {
    const phase = status.phase ?? "Unknown";
    counts[phase] = (counts[phase] ?? 0) + 1;
  }
  return counts;
}

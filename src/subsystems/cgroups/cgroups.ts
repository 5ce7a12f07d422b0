/**
 * The control groups of the node, of each class of service and of each pod.
 *
 * Owns: the tree below `<cgroupRoot>/kubepods` down to the pods' groups; containers' groups are the
 * runtime's. Comes in: the node's facts, configuration, pods. Goes out: groups and their limits, paths
 * and resources for CRI. Decisions are made in the pure `plan-*.ts`; this file carries them out.
 */
import type { Container, EphemeralContainer, Pod } from "../../api/generated/types.ts";
import { allContainers, isRestartableInit } from "../../api/pod.ts";
import { type QosClass, qosClassOf } from "../../api/qos.ts";
import type { Clock } from "../../kit/clock.ts";
import { messageOf, OutsideError, UsageError } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { Histogram, MetricsRegistry } from "../../kit/metrics.ts";
import type { CgroupTree, HostFacts } from "../../outside/host/host.ts";
import { applyPlan, type CgroupDifference, type CgroupReport, comparePlan } from "./apply.ts";
import { MIN_SHARES } from "./convert.ts";
import { type ContainerRole, readContainer, readDemand } from "./demand.ts";
import { literalPath, parsePath, podName, podUidOf, QOS_CLASSES, tierName } from "./names.ts";
import { type CgroupOptions, settingsFrom } from "./options.ts";
import { type ContainerResources, planContainer } from "./plan-container.ts";
import { planNode, planReserved } from "./plan-node.ts";
import { planPod } from "./plan-pod.ts";
import { planQos, planQosStart } from "./plan-qos.ts";
import { planTree } from "./plan-tree.ts";
import type { CgroupSettings } from "./settings.ts";
import { type CgroupPlan, planWrites } from "./writes.ts";

export type { CgroupDifference, CgroupOptions, CgroupPlan, ContainerResources };

export interface CgroupDeps {
  readonly tree: CgroupTree;
  readonly facts: HostFacts;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: MetricsRegistry;
}

/** What became of limiting the group of all pods; `failed` is worth another try and an event. */
export type NodeEnforcement =
  | { readonly kind: "enforced" }
  | { readonly kind: "failed"; readonly message: string };

/** A pod's group that is there, whether or not anybody knows the pod. */
export interface FoundPodGroup {
  readonly uid: string;
  readonly qos: QosClass;
  readonly path: string;
}

/** The face of this room. Every method that waits may throw `OutsideError`. */
export interface Cgroups {
  /** Makes the groups of the node and of the classes. `UsageError` when the configuration cannot hold. */
  start(): Promise<NodeEnforcement>;
  /** Limits the group of all pods to what is left to pods; for trying again. */
  enforceNode(): Promise<NodeEnforcement>;
  /**
   * Makes the pod's group and limits it. One that is there is left as it is. A limit the kernel refuses
   * is logged and does not fail. Call `updateQos` with all active pods before.
   */
  ensurePod(pod: Pod, uid: string): Promise<void>;
  /** Ends what still runs in the pod's group and removes it. Idempotent. */
  removePod(uid: string, qos: QosClass): Promise<void>;
  /** Leaves a group that cannot go yet hardly any CPU time. */
  squeezePod(uid: string, qos: QosClass): Promise<void>;
  /** Path of the pod's group in the tree. */
  podPath(pod: Pod, uid: string): string;
  /** `cgroup_parent` of the pod's sandbox for the runtime. */
  criParent(pod: Pod): string;
  /** `LinuxContainerResources` for a container of the pod. Right only after `start`. */
  containerResources(pod: Pod, container: Container | EphemeralContainer): ContainerResources;
  /** Sets shares and limits of the classes for the pods that are active. */
  updateQos(pods: readonly Pod[]): Promise<void>;
  /** Pods' groups that are there, by class and uid. */
  listPods(): Promise<readonly FoundPodGroup[]>;
  /** Processes in the pod's group, whatever its class. */
  podProcesses(uid: string): Promise<readonly number[]>;
  /** The whole tree as it should be for these pods. */
  planTree(pods: readonly Pod[]): readonly CgroupPlan[];
  /** Where the machine differs from `planTree(pods)`. Reads only. */
  drift(pods: readonly Pod[]): Promise<readonly CgroupDifference[]>;
}

const ENFORCED: NodeEnforcement = { kind: "enforced" };

/** Controllers without which pods cannot be limited. */
const NEEDED_CONTROLLERS = ["cpu", "memory"] as const;

/** The real thing; see `Cgroups`. With `cgroupsPerQos` off pods have no groups of their own. */
export function createCgroups(deps: CgroupDeps, options: CgroupOptions): Cgroups {
  return new CgroupRoom(deps, options);
}

class CgroupRoom implements Cgroups {
  readonly #deps: CgroupDeps;
  readonly #options: CgroupOptions;
  readonly #durations: Histogram | undefined;
  #settings: CgroupSettings;

  constructor(deps: CgroupDeps, options: CgroupOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#settings = settingsFrom(options, deps.tree, deps.facts);
    this.#durations = deps.metrics?.histogram({
      name: "kubelet_cgroup_manager_duration_seconds",
      help: "Duration in seconds for cgroup manager operations. Broken down by method.",
    });
    deps.metrics?.collected(
      {
        name: "kubelet_cgroup_version",
        help: "cgroup version on the hosts.",
        type: "gauge",
      },
      () => [{ value: deps.tree.version }],
    );
  }

  async start(): Promise<NodeEnforcement> {
    this.#checkControllers();
    const enforcement = this.#options.cgroupsPerQos ? await this.#startTree() : ENFORCED;
    this.#settings = { ...this.#settings, swap: await this.#swapNow() };
    return enforcement;
  }

  async #startTree(): Promise<NodeEnforcement> {
    await this.#checkRoot();
    const enforcement = await this.enforceNode();
    await this.#applyAll(planQosStart(this.#settings));
    await this.#enforceReserved();
    return enforcement;
  }

  #checkControllers(): void {
    if (this.#options.driver === "systemd") {
      throw new UsageError(
        'cgroupDriver "systemd": groups are made through the file system only; use "cgroupfs" here and in the runtime',
      );
    }
    const { controllers } = this.#deps.tree;
    const missing = NEEDED_CONTROLLERS.filter((controller) => !controllers.has(controller));
    if (missing.length > 0) {
      throw new UsageError(
        `control groups: the kernel offers no ${missing.join(" and no ")} controller; enable it at boot`,
      );
    }
  }

  async #checkRoot(): Promise<void> {
    const root = literalPath(this.#settings.root, this.#settings.driver);
    if (root !== "/" && !(await this.#deps.tree.exists(root))) {
      throw new UsageError(
        `cgroupRoot ${JSON.stringify(this.#options.cgroupRoot)}: no such control group with all controllers; make it before the agent starts`,
      );
    }
  }

  /** v1 tells at the root whether swap is counted, v2 only in a group below it. */
  async #swapNow(): Promise<CgroupSettings["swap"]> {
    const { tree } = this.#deps;
    const [file, groups] =
      tree.version === 1
        ? (["memory.memsw.limit_in_bytes", ["/"]] as const)
        : (["memory.swap.max", (await tree.children("/")).map((name) => `/${name}`)] as const);
    let controlled = false;
    for (const group of groups) controlled ||= (await tree.read(group, file)) !== undefined;
    return { ...this.#settings.swap, controlled };
  }

  async enforceNode(): Promise<NodeEnforcement> {
    try {
      await this.#applyAll([planNode(this.#settings)]);
      return ENFORCED;
    } catch (thrown) {
      if (!(thrown instanceof OutsideError)) throw thrown;
      return { kind: "failed", message: thrown.message };
    }
  }

  async #enforceReserved(): Promise<void> {
    try {
      await this.#applyAll(planReserved(this.#settings));
    } catch (thrown) {
      throw new UsageError(
        `enforceNodeAllocatable: a reservation cannot be enforced: ${messageOf(thrown)}`,
        { cause: thrown },
      );
    }
  }

  async ensurePod(pod: Pod, uid: string): Promise<void> {
    if (!this.#options.cgroupsPerQos) return;
    const plan = planPod(this.#settings, readDemand(pod, uid));
    if (await this.#deps.tree.exists(plan.path)) return;
    const report = await this.#timed("create", () => applyPlan(this.#deps.tree, plan));
    for (const { file, wanted, error } of report.failed) {
      this.#deps.log.warn("pod limit not set", { path: plan.path, file, wanted, error });
    }
  }

  async removePod(uid: string, qos: QosClass): Promise<void> {
    if (!this.#options.cgroupsPerQos) return;
    const path = this.#podGroupPath(uid, qos);
    await this.#timed("destroy", () => this.#deps.tree.destroy(path));
  }

  async squeezePod(uid: string, qos: QosClass): Promise<void> {
    const path = this.#podGroupPath(uid, qos);
    const writes = planWrites(this.#settings, { cpuShares: MIN_SHARES });
    const failure = await this.#applyOne({ path, kind: "pod", create: false, writes });
    if (failure && failure.code !== "notFound") throw failure;
  }

  podPath(pod: Pod, uid: string): string {
    if (!this.#options.cgroupsPerQos) {
      return literalPath(this.#settings.root, this.#settings.driver);
    }
    return this.#podGroupPath(uid, qosClassOf(pod));
  }

  criParent(pod: Pod): string {
    return this.podPath(pod, uidOf(pod));
  }

  containerResources(pod: Pod, container: Container | EphemeralContainer): ContainerResources {
    const demand = readDemand(pod, uidOf(pod));
    return planContainer(
      this.#settings,
      demand,
      readContainer(container, roleOf(pod, container.name)),
    );
  }

  async updateQos(pods: readonly Pod[]): Promise<void> {
    if (!this.#options.cgroupsPerQos) return;
    await this.#applyAll(planQos(this.#settings, pods.map(demandOf)));
  }

  async listPods(): Promise<readonly FoundPodGroup[]> {
    if (!this.#options.cgroupsPerQos) return [];
    const found: FoundPodGroup[] = [];
    for (const qos of QOS_CLASSES) {
      const parent = this.#tierPath(qos);
      for (const child of await this.#deps.tree.children(parent)) {
        const uid = podUidOf(parsePath(child, this.#settings.driver).at(-1) ?? "");
        if (uid !== undefined) found.push({ uid, qos, path: `${parent}/${child}` });
      }
    }
    return found;
  }

  async podProcesses(uid: string): Promise<readonly number[]> {
    if (!this.#options.cgroupsPerQos) return [];
    const pids = new Set<number>();
    for (const qos of QOS_CLASSES) {
      const path = this.#podGroupPath(uid, qos);
      for (const pid of await this.#deps.tree.processes(path)) pids.add(pid);
    }
    return [...pids];
  }

  planTree(pods: readonly Pod[]): readonly CgroupPlan[] {
    return planTree(this.#settings, pods.map(demandOf));
  }

  async drift(pods: readonly Pod[]): Promise<readonly CgroupDifference[]> {
    const differences: CgroupDifference[] = [];
    for (const plan of this.planTree(pods)) {
      differences.push(...(await comparePlan(this.#deps.tree, plan)));
    }
    return differences;
  }

  #tierPath(qos: QosClass): string {
    return literalPath(tierName(this.#settings.root, qos), this.#settings.driver);
  }

  #podGroupPath(uid: string, qos: QosClass): string {
    return literalPath(podName(this.#settings.root, qos, uid), this.#settings.driver);
  }

  /** Applies all plans, whatever fails, then throws the first failure. */
  async #applyAll(plans: readonly CgroupPlan[]): Promise<void> {
    let first: OutsideError | undefined;
    for (const plan of plans) {
      const failure = await this.#applyOne(plan);
      first ??= failure;
    }
    if (first) throw first;
  }

  async #applyOne(plan: CgroupPlan): Promise<OutsideError | undefined> {
    let report: CgroupReport;
    try {
      report = await this.#timed("update", () => applyPlan(this.#deps.tree, plan));
    } catch (thrown) {
      if (thrown instanceof OutsideError) return thrown;
      throw thrown;
    }
    for (const { file, found, wanted } of report.written) {
      this.#deps.log.verbose(3, "cgroup value set", { path: plan.path, file, found, wanted });
    }
    return report.failed[0]?.error;
  }

  async #timed<T>(operation: "create" | "update" | "destroy", work: () => Promise<T>): Promise<T> {
    const startedAt = this.#deps.clock.monotonic();
    try {
      return await work();
    } finally {
      const seconds = (this.#deps.clock.monotonic() - startedAt) / 1000;
      this.#durations?.observe(seconds, { operation_type: operation });
    }
  }
}

function uidOf(pod: Pod): string {
  return pod.metadata?.uid ?? "";
}

function demandOf(pod: Pod) {
  return readDemand(pod, uidOf(pod));
}

function roleOf(pod: Pod, name: string): ContainerRole {
  const placed = allContainers(pod).find(({ container }) => container.name === name);
  if (placed?.kind !== "init") return placed?.kind ?? "container";
  return isRestartableInit(placed.container) ? "sidecar" : "init";
}

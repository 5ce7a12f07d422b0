/**
 * The cgroups of the node, of each QoS class and of each pod. Owns: the tree below `<cgroupRoot>/kubepods` down
 * to the pods' groups; containers' groups are the runtime's. In: facts of the node, configuration, pods. Out: groups
 * and their limits, paths and resources for CRI. Decisions are made in the pure `plan-*.ts`; this file applies them.
 *
 * Example:
 *     const cgroups = new Cgroups({ tree, facts, clock, log }, cgroupOptionsOf(config, machine));
 *     await cgroups.start();
 *     await cgroups.updateQos(pods);
 *     await cgroups.ensurePod(pod); // its limits are set before its sandbox is made
 */

import type { Container, EphemeralContainer } from "../../api/generated/types.ts";
import { METRICS } from "../../api/metrics/metrics.ts";
import { allContainers } from "../../api/pod/pod.ts";
import { type QosClass, qosClassOf } from "../../api/pod/qos.ts";
import type { IdentifiedPod, PodUid } from "../../api/pod-identity.ts";
import type { Clock } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { appendAll } from "../../kit/limits/lists.ts";
import type { Log } from "../../kit/log.ts";
import type { Histogram, MetricsRegistry } from "../../kit/metrics.ts";
import type { CgroupTree, HostFacts } from "../../outside/host/host.ts";
import type { SystemdUnits } from "../../outside/systemd/systemd.ts";
import {
  applyCgroupPlan,
  type CgroupAccess,
  type CgroupDifference,
  type CgroupReport,
  comparePlan,
  destroyGroup,
  holdsAnything,
} from "./apply.ts";
import { MIN_SHARES } from "./convert.ts";
import { podDemand } from "./demand-cache.ts";
import type { NodeEnforcement } from "./enforcement.ts";
import { type GroupPlace, locateGroup } from "./locate.ts";
import { literalPath, podName, QOS_CLASSES, tierName } from "./names.ts";
import { type CgroupOptions, settingsFrom } from "./options.ts";
import { containerDemand } from "./plan/container-demand.ts";
import type { PodDemand } from "./plan/demand.ts";
import { type ContainerResources, planContainerGroup } from "./plan/plan-container.ts";
import { planNode, planReserved } from "./plan/plan-node.ts";
import { planPodGroup } from "./plan/plan-pod.ts";
import { type ProtectedMemory, planQos, planQosStart, protectedMemory } from "./plan/plan-qos.ts";
import { planSandboxGroup, type SandboxResources } from "./plan/plan-sandbox.ts";
import { planTree } from "./plan/plan-tree.ts";
import { clearRemoved, type FoundPodGroup, findPodGroups } from "./pod-groups.ts";
import { QosPasses } from "./qos-passes.ts";
import { type CgroupsReport, reportCgroups } from "./report.ts";
import { applyResize, type CgroupResizeRequest, type ResizeOutcome } from "./resize.ts";
import type { CgroupSettings } from "./settings.ts";
import {
  checkControllers,
  checkRoot,
  connectCgroups,
  memoryQosWarning,
  readCpus,
  readSwap,
  unenforceableReservation,
} from "./start.ts";
import { type CgroupPlan, planWrites } from "./writes.ts";

export { enforcementEvent, type NodeEnforcement } from "./enforcement.ts";
export { cgroupOptionsOf, USUAL_PAGE_BYTES } from "./from-config.ts";
export type { GroupPlace } from "./locate.ts";
export type { CgroupDriver } from "./names.ts";
export { settingsFrom } from "./options.ts";
export type { RuntimeWeights } from "./plan/plan-container.ts";
export type { PlannedGroup, PlannedValue } from "./plan/plan-machine.ts";
export type { FoundPodGroup } from "./pod-groups.ts";
export type { CgroupsReport, ReportedGroup, ReportedValue } from "./report.ts";
export type { CgroupResizeRequest, ResizeOutcome } from "./resize.ts";
export { runtimeCgroupDriver } from "./runtime-driver.ts";
export type { CgroupSettings } from "./settings.ts";
export { tryUpdateQos } from "./tolerant-update.ts";
export type { CgroupDifference, CgroupOptions, CgroupPlan, ContainerResources };

interface CgroupDeps {
  readonly tree: CgroupTree;
  /** Needed with the systemd driver. */
  readonly systemd?: SystemdUnits;
  readonly facts: HostFacts;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: MetricsRegistry;
  /** Whether the container, or any of the pod, has CPUs for itself: its CPU time is not limited. Absent: none has. */
  readonly hasCpus?: (uid: PodUid, container?: string) => boolean;
}

const ENFORCED: NodeEnforcement = { kind: "enforced" };

/**
 * The cgroups of the node and of its pods. Every method that waits may throw `OutsideError`. With `cgroupsPerQos` off pods have no
 * groups of their own.
 */
export class Cgroups {
  readonly #deps: CgroupDeps;
  readonly #options: CgroupOptions;
  readonly #durations: Histogram | undefined;
  #settings: CgroupSettings;
  #access: CgroupAccess;
  /** Paths of pods' groups that were made with their limits. */
  readonly #whole = new Set<string>();
  #enforcement: NodeEnforcement = ENFORCED;
  readonly #qosPasses: QosPasses;
  #protected: ProtectedMemory = { minBytes: 0, lowBytes: 0 };

  constructor(deps: CgroupDeps, options: CgroupOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#settings = settingsFrom(options, deps.tree, deps.facts);
    this.#access = { tree: deps.tree };
    this.#qosPasses = new QosPasses({
      clock: deps.clock,
      plan: (pods) => this.#planQos(pods),
      apply: (plans) => this.#applyAll(plans),
    });
    this.#durations = deps.metrics?.histogram(METRICS.kubelet_cgroup_manager_duration_seconds);
    deps.metrics?.collected(METRICS.kubelet_cgroup_version, () => [{ value: deps.tree.version }]);
    if (options.memoryQos && deps.metrics) this.#exposeProtected(deps.metrics);
  }

  #exposeProtected(metrics: MetricsRegistry): void {
    metrics.collected(METRICS.kubelet_memory_qos_node_memory_min_bytes, () => [
      { value: this.#protected.minBytes },
    ]);
    metrics.collected(METRICS.kubelet_memory_qos_node_memory_low_bytes, () => [
      { value: this.#protected.lowBytes },
    ]);
  }

  #planQos(pods: readonly IdentifiedPod[]): readonly CgroupPlan[] {
    const demands = pods.map((pod) => this.#demandOf(pod));
    this.#protected = protectedMemory(this.#settings, demands);
    return planQos(this.#settings, demands);
  }

  /** Makes the groups of the node and of the classes. `UsageError` when the configuration cannot hold. */
  async start(): Promise<NodeEnforcement> {
    const { tree, systemd, facts, log } = this.#deps;
    checkControllers(tree);
    const warning = memoryQosWarning(this.#settings, facts);
    if (warning !== undefined) log.warn(warning, { kernelVersion: facts.kernelVersion });
    this.#access = await connectCgroups(this.#options, tree, systemd);
    this.#settings = { ...this.#settings, ...(await readCpus(this.#access)) };
    const enforcement = this.#options.cgroupsPerQos ? await this.#startTree() : ENFORCED;
    this.#settings = { ...this.#settings, swap: await readSwap(tree, this.#settings) };
    return enforcement;
  }

  async #startTree(): Promise<NodeEnforcement> {
    await checkRoot(this.#deps.tree, this.#settings, this.#options.cgroupRoot);
    const enforcement = await this.enforceNode();
    await this.#applyAll(planQosStart(this.#settings));
    try {
      await this.#applyAll(planReserved(this.#settings));
    } catch (thrown) {
      throw unenforceableReservation(thrown);
    }
    return enforcement;
  }

  /** Outcome of the last attempt. */
  get enforcement(): NodeEnforcement {
    return this.#enforcement;
  }

  /** Limits the group of all pods to what is left to pods; for trying again. */
  async enforceNode(): Promise<NodeEnforcement> {
    if (!this.#options.cgroupsPerQos) return ENFORCED;
    try {
      await this.#applyAll([planNode(this.#settings)]);
      this.#enforcement = ENFORCED;
    } catch (thrown) {
      if (!(thrown instanceof OutsideError)) throw thrown;
      this.#enforcement = { kind: "failed", message: thrown.message };
    }
    return this.#enforcement;
  }

  /**
   * Makes the pod's group and limits it; whether it was made. One that was made with its limits is left as it is. A limit
   * the kernel refuses is logged and does not fail. Call `updateQos` with all active pods before.
   */
  async ensurePod(pod: IdentifiedPod): Promise<boolean> {
    if (!this.#options.cgroupsPerQos) return false;
    const plan = planPodGroup(this.#settings, this.#demandOf(pod));
    // A group that holds nothing may have been left without its limits, by an agent that was killed or by a failure.
    const { tree } = this.#deps;
    const isWhole = async () =>
      this.#whole.has(plan.path) || (await holdsAnything(tree, plan.path));
    if ((await tree.exists(plan.path)) && (await isWhole())) return false;
    const report = await this.#timed("create", () => applyCgroupPlan(this.#access, plan));
    const [first] = report.failed;
    // Without its group the pod would run where the runtime makes one, without any limit.
    if (first && !(await tree.exists(plan.path))) throw first.error;
    this.#whole.add(plan.path);
    for (const { file, wanted, error } of report.failed) {
      this.#deps.log.warn("failed to set pod limit", { path: plan.path, file, wanted, error });
    }
    return report.created;
  }

  /** Ends what still runs in the pod's group and removes it. Idempotent. */
  async removePod(uid: string, qos: QosClass): Promise<void> {
    if (!this.#options.cgroupsPerQos) return;
    const path = this.#podGroupPath(uid, qos);
    this.#whole.delete(path);
    await this.#timed("destroy", () => destroyGroup(this.#access, path));
  }

  /**
   * Ends the processes and removes the group of a container or sandbox that the runtime has removed: a runtime that was
   * killed while it started a container leaves its process behind.
   */
  async clearRemoved(pod: IdentifiedPod, id: string): Promise<void> {
    if (!this.#options.cgroupsPerQos) return;
    for (const path of await clearRemoved(this.#access, this.podPath(pod), id))
      this.#deps.log.warn("cgroup of a removed container is left", { path });
  }

  /** Thaws the pod's group, so that its processes can be killed. Idempotent. */
  async thawPod(uid: string, qos: QosClass): Promise<void> {
    if (this.#options.cgroupsPerQos) await this.#deps.tree.thaw(this.#podGroupPath(uid, qos));
  }

  /** Gives a group that cannot be removed yet the lowest CPU weight. */
  async squeezePod(uid: string, qos: QosClass): Promise<void> {
    const path = this.#podGroupPath(uid, qos);
    const writes = planWrites(this.#settings, { cpuShares: MIN_SHARES });
    const failure = await this.#applyOne({ path, kind: "pod", create: false, writes });
    if (failure && failure.code !== "notFound") throw failure;
  }

  /** Path of the pod's group in the tree. */
  podPath(pod: IdentifiedPod): string {
    if (!this.#options.cgroupsPerQos) {
      return literalPath(this.#settings.root, this.#settings.driver);
    }
    return this.#podGroupPath(pod.metadata.uid, qosClassOf(pod));
  }

  /** Path of the group of a class; guaranteed pods stand in the group of all pods. */
  tierPath(qos: QosClass): string {
    return literalPath(tierName(this.#settings.root, qos), this.#settings.driver);
  }

  /** `cgroup_parent` of the pod's sandbox for the runtime. */
  /** `LinuxContainerResources` for a container of the pod. Right only after `start`. */
  containerResources(
    pod: IdentifiedPod,
    container: Container | EphemeralContainer,
  ): ContainerResources {
    const demand = this.#demandOf(pod);
    const isExclusive =
      demand.exclusiveCpus && this.#deps.hasCpus?.(pod.metadata.uid, container.name) === true;
    const own = isExclusive ? demand : { ...demand, exclusiveCpus: false };
    return planContainerGroup(this.#settings, own, containerDemand(pod, container));
  }

  /** The pod's resources for its sandbox, as sent to the runtime. Valid only after `start`. */
  sandboxResources(pod: IdentifiedPod): SandboxResources {
    return planSandboxGroup(this.#settings, pod, this.#demandOf(pod).exclusiveCpus);
  }

  /**
   * Sets shares and limits of the classes for the pods that are active. Calls that overlap share a pass
   * with the pods of the latest.
   */
  updateQos(pods: readonly IdentifiedPod[]): Promise<void> {
    if (!this.#options.cgroupsPerQos) return Promise.resolve();
    return this.#qosPasses.update(pods);
  }

  /** Changes the resources of a running pod, never giving a container more than its pod. */
  async resizePod(request: CgroupResizeRequest): Promise<ResizeOutcome> {
    const access = { ...this.#access, settings: this.#settings, options: this.#options };
    return this.#timed("update", () => applyResize(access, request));
  }

  /** Pods' groups that are there, by class and uid. */
  async listPods(): Promise<readonly FoundPodGroup[]> {
    if (!this.#options.cgroupsPerQos) return [];
    const { driver } = this.#settings;
    return findPodGroups(this.#deps.tree, driver, (qos) => this.tierPath(qos));
  }

  /** The object at a path reported by the kernel. */
  locate(path: string): GroupPlace {
    return locateGroup(path, this.#settings.driver);
  }

  /** Processes in the pod's group, whatever its class. */
  async podProcesses(uid: string): Promise<readonly number[]> {
    if (!this.#options.cgroupsPerQos) return [];
    const pids = new Set<number>();
    for (const qos of QOS_CLASSES) {
      const path = this.#podGroupPath(uid, qos);
      for (const pid of await this.#deps.tree.processes(path)) pids.add(pid);
    }
    return [...pids];
  }

  /** The whole tree as it should be for these pods. */
  planTree(pods: readonly IdentifiedPod[]): readonly CgroupPlan[] {
    return planTree(
      this.#settings,
      pods.map((pod) => this.#demandOf(pod)),
    );
  }

  /** Differences of the machine from `planTree(pods)`. Reads only. */
  async drift(pods: readonly IdentifiedPod[]): Promise<readonly CgroupDifference[]> {
    const differences: CgroupDifference[] = [];
    for (const plan of this.planTree(pods))
      appendAll(differences, await comparePlan(this.#deps.tree, plan));
    return differences;
  }

  /** The whole live tree beside the desired one; pods come with their statuses. Reads only. */
  async report(pods: readonly IdentifiedPod[]): Promise<CgroupsReport> {
    const isKept = this.#options.cgroupsPerQos;
    return reportCgroups({
      tree: this.#deps.tree,
      settings: this.#settings,
      pods: isKept ? pods : [],
      present: (await this.listPods()).map(({ path }) => path),
      resourcesOf: (pod, name) => {
        const placed = allContainers(pod).find(({ container }) => container.name === name);
        return this.containerResources(pod, placed?.container ?? { name });
      },
    });
  }

  /** Writes what differs, on groups that are there; also what is usually left alone. Answers what it wrote. */
  async repair(pods: readonly IdentifiedPod[]): Promise<readonly CgroupDifference[]> {
    const written: CgroupDifference[] = [];
    for (const plan of this.planTree(pods)) {
      if (!(await this.#deps.tree.exists(plan.path))) continue;
      const report = await this.#timed("update", () =>
        applyCgroupPlan(this.#access, plan, { repair: true }),
      );
      appendAll(written, report.written);
      if (report.failed[0]) throw report.failed[0].error;
    }
    return written;
  }

  #demandOf(pod: IdentifiedPod): PodDemand {
    const demand = podDemand(pod);
    return this.#deps.hasCpus?.(pod.metadata.uid) ? { ...demand, exclusiveCpus: true } : demand;
  }

  #podGroupPath(uid: string, qos: QosClass): string {
    return literalPath(podName(this.#settings.root, qos, uid), this.#settings.driver);
  }

  /** Applies all plans, also after a failure, then throws the first one. */
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
      report = await this.#timed("update", () => applyCgroupPlan(this.#access, plan));
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

/**
 * Resource usage of node, QoS classes, pods and containers. In: pods as the runtime has them.
 * Out: the summary, pages of metrics, and what `kubectl top` shows. Everything is read straight from the
 * kernel on request; nothing is measured without one, and no process is started.
 * Example: `const { pods } = await stats.measure({ maxAgeMs: 0 })`.
 */

import type {
  ContainerFigures,
  FsFigures,
  GroupFigures,
  InterfaceFigures,
  MachineFigures,
  Measurement,
  NamedGroup,
  NodeFigures,
  PodFigures,
  PodStorage,
} from "../../api/figures/figures.ts";
import type { OomCounts } from "../../api/figures/oom-counts.ts";
import type { Clock, MonotonicMs, WallMs } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { ownCgroup } from "../../kit/proc/own-cgroup.ts";
import type { Host, HostFacts } from "../../outside/host/host.ts";
import { cadvisorPage } from "./cadvisor-page.ts";
import { Disks, type DisksDeps } from "./disks.ts";
import { Held } from "./held.ts";
import {
  groupPath,
  parseBootSecond,
  parseDefaultInterface,
  parseDiskstats,
  parseInterfaces,
  parseTasks,
  pidsOf,
} from "./parse.ts";
import type { MeasuredPod } from "./pods.ts";
import { CpuRates } from "./rates.ts";
import { type Detail, type ReadOptions, readGroup } from "./read-group.ts";
import { type CountedMachine, MEMORY_ONLY, optionsOf, readNodeGroup } from "./read-node.ts";
import { type HeldOfProcesses, heldOfProcesses, readProcesses } from "./read-processes.ts";
import { resourcePage } from "./resource-page.ts";
import { type Summary, summarize } from "./summary.ts";
import { type NodeMetrics, nodeUsage, type PodMetrics, podUsages } from "./usage-metrics.ts";

export { type FoundRunning, type MeasuredPod, measuredPod } from "./pods.ts";
export type { Summary } from "./summary.ts";
export { type GroupUse, groupUses, type NodeMetrics, type PodMetrics } from "./usage-metrics.ts";

export interface StatsDeps {
  readonly host: Pick<Host, "cgroups" | "readKernel" | "openFiles" | "diskUsage" | "podFiles">;
  readonly runtime: DisksDeps["runtime"];
  readonly facts: HostFacts & CountedMachine;
  readonly oomCounts: OomCounts;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
  /** Pods of which something runs. */
  readonly pods: () => readonly MeasuredPod[];
}

interface StatsOptions {
  readonly nodeName: string;
  readonly rootFolder: string;
  /** How old sizes of volumes may be (`volumeStatsAggPeriod`). */
  readonly volumesMaxAgeMs: number;
  /** Groups that are watched beside those of pods; the summary shows `pods`, `kubelet`, `runtime` and `misc`. */
  readonly groups: readonly { readonly name: string; readonly path: string }[];
}

/** Answers to questions that come close together are one and the same. */
const FRESH_MS = 1_000;
/** Limits of groups and of processes, and which of unchanged descriptors are sockets, are not read more often. */
const LIMITS_MAX_AGE_MS = 60_000;
/** Pods that are read without letting other work in between. */
const SLICE = 20;
/** The first average of CPU use reaches over this. */
const FIRST_WINDOW_MS = 1_000;
/** Interfaces of the node that belong to pods or lead nowhere (as cAdvisor leaves out). */
const OTHER_INTERFACES = /^(lo|veth|docker|nerdctl)/;

/** The module; see the head of the file. */
export class Stats {
  readonly #options: StatsOptions;
  readonly #deps: StatsDeps;
  readonly #rates = new CpuRates();
  readonly #disks: Disks;
  readonly #reading: Pick<ReadOptions, "limits" | "swap" | "swapLimits" | "pressure">;
  readonly #held: HeldOfProcesses;
  readonly #groups: StatsOptions["groups"];
  readonly #devices = new Map<string, string>();
  #places = new Map<string, string>();
  #latest:
    | { readonly detail: Detail; readonly at: MonotonicMs; readonly taken: Promise<Measurement> }
    | undefined;

  constructor(options: StatsOptions, deps: StatsDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#disks = new Disks(options, deps);
    const now = () => deps.clock.monotonic();
    this.#held = heldOfProcesses(LIMITS_MAX_AGE_MS, now);
    this.#reading = {
      limits: new Held(LIMITS_MAX_AGE_MS, now),
      swapLimits: new Held(LIMITS_MAX_AGE_MS, now),
      swap: deps.facts.swapBytes > 0 ? "used" : "none",
      pressure: deps.host.readKernel("/proc/pressure/cpu") !== undefined,
    };
    const own = ownCgroup(deps.host.readKernel("/proc/self/cgroup"), "cpu");
    const isShared = own === undefined || own === "/" || own.startsWith("/..");
    const isGiven = options.groups.some(({ name }) => name === "kubelet");
    const given = options.groups.map(({ name, path }) => ({ name, path: groupPath(path) }));
    this.#groups = [...given, ...(isShared || isGiven ? [] : [{ name: "kubelet", path: own }])];
  }

  /** Everything that is used, not older than `maxAgeMs`. */
  async measure({
    detail = "usage",
    maxAgeMs = FRESH_MS,
  }: MeasureOptions = {}): Promise<Measurement> {
    const at = this.#deps.clock.monotonic();
    const latest = this.#latest;
    const isEnough = latest && (latest.detail === "all" || latest.detail === detail);
    if (latest && isEnough && at - latest.at <= maxAgeMs) return await latest.taken;
    const taken = this.#take(detail);
    this.#latest = { detail, at, taken };
    try {
      return await taken;
    } catch (error) {
      if (this.#latest?.taken === taken) this.#latest = undefined;
      throw error;
    }
  }

  /** Memory and tasks of the machine, and of the group of all pods, as they are now. Nothing else is read. */
  machine(): MachineFigures {
    const { host, facts, clock } = this.#deps;
    const atMs = clock.wall();
    return {
      atMs,
      group: readNodeGroup(host, facts, atMs, MEMORY_ONLY),
      groups: this.#groups.flatMap(({ name, path }) => {
        const group =
          name === "pods" ? readGroup(host.cgroups, path, atMs, MEMORY_ONLY) : undefined;
        return group ? [{ name, path, group }] : [];
      }),
      tasks: parseTasks(host.readKernel("/proc/loadavg")),
    };
  }

  /**
   * Usage of local storage by these pods, by uid: layers, logs and volumes that were measured at most `maxAgeMs` ago,
   * or twenty times as long ago as measuring them took.
   */
  async storageOf(
    uids: ReadonlySet<string>,
    maxAgeMs: number,
  ): Promise<ReadonlyMap<string, PodStorage>> {
    const all = this.#deps.pods();
    const pods = all.filter(({ uid }) => uids.has(uid));
    await this.#disks.refreshLocalStorage({ pods, all }, maxAgeMs);
    return new Map(pods.map((pod) => [pod.uid, this.#storageOf(pod)]));
  }

  /** `/stats/summary`; sizes on disk are up to ten seconds old, those of volumes up to a minute. */
  async summary(options: { readonly onlyCpuAndMemory?: boolean } = {}): Promise<Summary> {
    const { onlyCpuAndMemory = false } = options;
    const measured = await (onlyCpuAndMemory ? this.measure() : this.measureWithDisks());
    const { nodeName } = this.#options;
    return summarize(measured, { nodeName, pidMax: this.#deps.facts.pidMax, onlyCpuAndMemory });
  }

  /** Like `measure`, with what is used on disks. */
  async measureWithDisks(options: MeasureOptions = {}): Promise<Measurement> {
    const pods = this.#deps.pods();
    const [measured] = await Promise.all([this.measure(options), this.#disks.refresh(pods)]);
    return this.#withDisks(measured, new Map(pods.map((pod) => [pod.uid, pod])));
  }

  /** `/metrics/resource`; `showHidden` with what is deprecated. */
  async resourcePage(showHidden = false): Promise<string> {
    return resourcePage(await this.measure(), showHidden);
  }

  /** `/metrics/cadvisor`. */
  async cadvisorPage(): Promise<string> {
    const [measured] = await Promise.all([
      this.measure({ detail: "all" }),
      this.#disks.refreshFilesystems(),
    ]);
    const disks = parseDiskstats(this.#deps.host.readKernel("/proc/diskstats"));
    const node = { ...measured.node, ...this.#filesystems(), disks };
    const deviceName = (device: string) => this.#nameOf(device);
    return cadvisorPage({ ...measured, node }, { ...this.#deps, deviceName });
  }

  /**
   * Usage of node and pods for `metrics.k8s.io`. Takes a second when there was no request within the last
   * minutes, since an average needs two samples.
   */
  async usage(signal: AbortSignal): Promise<{ node: NodeMetrics; pods: readonly PodMetrics[] }> {
    const { clock, pods } = this.#deps;
    let measured = await this.measure();
    if (measured.node.group.nanoCores === undefined) {
      await clock.sleep(FIRST_WINDOW_MS, signal);
      measured = await this.measure({ maxAgeMs: 0 });
    }
    const windowMs = this.#rates.windowMs("/", clock.monotonic()) ?? FIRST_WINDOW_MS;
    const labels = new Map(pods().map(({ uid, pod }) => [uid, pod.metadata?.labels ?? {}]));
    return {
      node: nodeUsage(measured, this.#options.nodeName, windowMs),
      pods: podUsages(measured, windowMs, labels),
    };
  }

  async #take(detail: Detail): Promise<Measurement> {
    const { clock, host, facts } = this.#deps;
    const options = { ...this.#reading, ...optionsOf(detail, host, facts) };
    const read = new Set(["/"]);
    const atMs = clock.wall();
    const group = this.#rated("/", readNodeGroup(host, facts, atMs, options));
    const groups = this.#groups.flatMap(({ name, path }): readonly NamedGroup[] => {
      read.add(path);
      const figures = this.#read(path, options);
      return figures ? [{ name, path, group: figures }] : [];
    });
    const pods: PodFigures[] = [];
    const wanted = this.#deps.pods();
    await this.#findPlaces(wanted);
    for (const [i, pod] of wanted.entries()) {
      if (i > 0 && i % SLICE === 0) await clock.sleep(0, this.#deps.signal);
      const figures = this.#readPod(pod, options);
      pods.push(figures);
      read.add(pod.group);
      for (const { path } of figures.containers) read.add(path);
    }
    this.#rates.keep(read);
    const { limits, swapLimits } = this.#reading;
    for (const held of [limits, swapLimits, this.#held.limits]) held?.keep(read);
    this.#held.openFiles.dropOld();
    return { atMs, node: this.#nodeOf(group, groups), pods };
  }

  #nodeOf(group: GroupFigures, groups: readonly NamedGroup[]): NodeFigures {
    const { host } = this.#deps;
    const boot = parseBootSecond(host.readKernel("/proc/stat"));
    const interfaces = parseInterfaces(host.readKernel("/proc/net/dev"));
    const network = interfaces.filter(({ name }) => !OTHER_INTERFACES.test(name));
    return {
      bootedAtMs: boot === undefined ? undefined : ((boot * 1000) as WallMs),
      group,
      groups,
      network,
      defaultInterface: parseDefaultInterface(host.readKernel("/proc/net/route")),
      tasks: parseTasks(host.readKernel("/proc/loadavg")),
    };
  }

  #readPod(pod: MeasuredPod, options: ReadOptions): PodFigures {
    const { name, namespace } = pod.pod.metadata;
    const containers = pod.containers.flatMap((container): readonly ContainerFigures[] => {
      const path = this.#places.get(container.id);
      const group = path === undefined ? undefined : this.#read(path, options);
      if (path === undefined || !group) return [];
      const { host } = this.#deps;
      const processes =
        options.detail === "all" ? readProcesses(host, path, this.#held) : undefined;
      return [{ ...container, path, group, ...(processes ? { processes } : {}) }];
    });
    return {
      uid: pod.uid,
      namespace,
      name,
      startedAtMs: pod.sandbox?.createdAtMs,
      sandboxId: pod.sandbox?.id,
      path: pod.group,
      group: this.#read(pod.group, options),
      network: this.#networkOf(pod),
      containers,
      volumes: [],
    };
  }

  /** A pod's network is that of the process that holds its sandbox. */
  #networkOf({ sandbox, containers }: MeasuredPod): readonly InterfaceFigures[] | undefined {
    if (!sandbox || sandbox.hostNetwork) return undefined;
    const { host } = this.#deps;
    for (const { id } of [sandbox, ...containers]) {
      const path = this.#places.get(id);
      const [pid] = path ? pidsOf(host.cgroups.readNow(path, ["cgroup.procs"])[0]) : [];
      const text = pid ? host.readKernel(`/proc/${pid}/net/dev`) : undefined;
      if (text !== undefined) return parseInterfaces(text).filter(({ name }) => name !== "lo");
    }
    return undefined;
  }

  #read(path: string, options: ReadOptions): GroupFigures | undefined {
    const { host, clock } = this.#deps;
    const figures = readGroup(host.cgroups, path, clock.wall(), options);
    return figures && this.#rated(path, figures);
  }

  #rated(path: string, figures: GroupFigures): GroupFigures {
    if (!figures.cpu) return figures;
    const nanoCores = this.#rates.note(path, this.#deps.clock.monotonic(), figures.cpu.usageNanos);
    return nanoCores === undefined ? figures : { ...figures, nanoCores };
  }

  /** The runtime names the groups of its containers; the names hold their ids. */
  async #findPlaces(pods: readonly MeasuredPod[]): Promise<void> {
    const places = new Map<string, string>();
    for (const { group, sandbox, containers } of pods) {
      const ids = [...(sandbox ? [sandbox.id] : []), ...containers.map(({ id }) => id)];
      const isKnown = ids.every((id) => this.#places.has(id));
      const children = isKnown ? [] : await this.#deps.host.cgroups.children(group);
      for (const id of ids) {
        const child = children.find((one) => one.includes(id));
        const path = this.#places.get(id) ?? (child && `${group === "/" ? "" : group}/${child}`);
        if (path) places.set(id, path);
      }
    }
    this.#places = places;
  }

  #filesystems(): Pick<NodeFigures, "fs" | "imageFs" | "containerFs"> {
    const { node, image, container } = this.#disks;
    return {
      ...(node ? { fs: node } : {}),
      ...(image ? { imageFs: image } : {}),
      ...(container ? { containerFs: container } : {}),
    };
  }

  #withDisks(measured: Measurement, pods: ReadonlyMap<string, MeasuredPod>): Measurement {
    return {
      ...measured,
      node: { ...measured.node, ...this.#filesystems() },
      pods: measured.pods.map((figures) => {
        const pod = pods.get(figures.uid);
        if (!pod) return figures;
        const containers = figures.containers.map((container) => ({
          ...container,
          ...this.#filesOf(pod, container),
        }));
        return { ...figures, containers, ...this.#otherFilesOf(pod) };
      }),
    };
  }

  #storageOf(pod: MeasuredPod): PodStorage {
    const containers = pod.containers.map((container) => ({
      name: container.name,
      ...this.#filesOf(pod, container),
    }));
    return { containers, ...this.#otherFilesOf(pod) };
  }

  #otherFilesOf(pod: MeasuredPod): Pick<PodFigures, "volumes" | "managedFiles"> {
    const volumes = this.#disks.volumes(pod);
    return { volumes, ...present("managedFiles", this.#disks.managedFiles(pod)) };
  }

  #filesOf(
    pod: MeasuredPod,
    { id, name }: { readonly id: string; readonly name: string },
  ): Pick<ContainerFigures, "rootfs" | "logs"> {
    return {
      ...present("rootfs", this.#disks.layer(id)),
      ...present("logs", this.#disks.logs(pod, name)),
    };
  }

  /** `/dev/sda` for `8:0`. */
  #nameOf(device: string): string {
    const known = this.#devices.get(device);
    if (known !== undefined) return known;
    const uevent = this.#deps.host.readKernel(`/sys/dev/block/${device}/uevent`) ?? "";
    const name = /^DEVNAME=(.+)$/m.exec(uevent)?.[1];
    const shown = name === undefined ? "" : `/dev/${name}`;
    if (this.#devices.size < MAX_DEVICES) this.#devices.set(device, shown);
    return shown;
  }
}

/** Names of block devices that are kept. */
const MAX_DEVICES = 1_000;

/** Required content and maximum age of a measurement. */
interface MeasureOptions {
  readonly detail?: Detail;
  readonly maxAgeMs?: number;
}

function present<K extends string>(
  name: K,
  figures: FsFigures | undefined,
): { readonly [key in K]?: FsFigures } {
  return figures ? ({ [name]: figures } as { readonly [key in K]?: FsFigures }) : {};
}

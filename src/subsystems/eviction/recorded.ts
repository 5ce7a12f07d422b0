// pure
/**
 * A node that files describe: what it and its pods use as `/stats/summary` shows it, and the objects of the
 * pods. What the agent would do there is planned by the function that it acts by.
 */

import type { EvictionSignal } from "../../api/node/eviction-signals.ts";
import { isLocalEphemeralVolume, isTerminalPhase, podDisplayName } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { EvictionAmount } from "../../config/eviction-thresholds.ts";
import type { MonotonicMs, WallMs } from "../../kit/clock.ts";
import { UsageError } from "../../kit/errors.ts";
import type { DiskMeasure, MemoryMeasure, NodeMeasures } from "./measures.ts";
import { observationsOf } from "./observations.ts";
import { NOTHING_MET, planEviction } from "./plan.ts";
import { type EvictionReport, reportEviction } from "./report.ts";
import type { EvictionSettings } from "./settings.ts";
import type { DiskLayout } from "./signals.ts";
import { replaceHard } from "./thresholds.ts";
import type { CandidatePod, ContainerUsage, DiskUse, PodUsage } from "./usage.ts";

/** A node as its summary describes it. */
export interface RecordedNode {
  /** Empty when the summary does not name it. */
  readonly name: string;
  readonly measures: NodeMeasures;
  readonly layout: DiskLayout;
  /** Usage of each pod, by `namespace/name`; of no volume it says whether it is ephemeral. */
  readonly usages: ReadonlyMap<string, PodUsage>;
}

/** Plan for a recorded node. */
interface RecordedPreview {
  readonly settings: EvictionSettings;
  /** Hard thresholds in place of those that their signals have in the settings. */
  readonly hard: ReadonlyMap<EvictionSignal, EvictionAmount>;
  readonly node: RecordedNode;
  /** Pods of other nodes, and those that have ended, are left out. */
  readonly pods: readonly IdentifiedPod[];
}

/**
 * Dry run of a first round of eviction on a recorded node. Since when thresholds are met is not recorded: soft
 * ones count as met from now on.
 */
export function previewRecorded({ settings, hard, node, pods }: RecordedPreview): EvictionReport {
  const { layout, measures } = node;
  const plan = planEviction({
    rules: { ...settings, layout, thresholds: replaceHard(settings.thresholds, hard) },
    observations: observationsOf(measures),
    pods: pods.flatMap((pod) => candidateOf(pod, node)),
    state: NOTHING_MET,
    now: 0 as MonotonicMs,
  });
  return reportEviction(plan, layout);
}

function candidateOf(pod: IdentifiedPod, { name, usages }: RecordedNode): readonly CandidatePod[] {
  const { metadata, spec, status } = pod;
  const usage = usages.get(podDisplayName(pod));
  const boundTo = spec?.nodeName ?? "";
  const isHere = boundTo === "" ? usage !== undefined : name === "" || boundTo === name;
  if (!isHere || isTerminalPhase(status?.phase)) return [];
  const ending = metadata.deletionTimestamp === undefined ? "no" : "deleted";
  return [{ uid: metadata.uid, pod, usage: usage && usageOf(usage, pod), ending }];
}

function usageOf({ volumes, ...rest }: PodUsage, { spec }: IdentifiedPod): PodUsage {
  const ephemeral = new Set(
    (spec?.volumes ?? []).filter(isLocalEphemeralVolume).map(({ name }) => name),
  );
  return {
    ...rest,
    volumes: volumes.map((volume) => ({ ...volume, ephemeral: ephemeral.has(volume.name) })),
  };
}

/**
 * Reads a Summary (`stats.k8s.io/v1alpha1`) as any kubelet answers it. What it leaves out counts as not
 * measured; throws `UsageError` with the member for what has the wrong type.
 */
export function readSummary(value: unknown): RecordedNode {
  const root = new Member(value, "");
  const node = root.member("node");
  const pods = root.members("pods");
  if (!node || !pods)
    throw new UsageError(
      "is not a summary; give the answer of kubectl get --raw /api/v1/nodes/NAME/proxy/stats/summary",
    );
  const nodefs = diskOf(node.member("fs"));
  const runtime = node.member("runtime");
  const imagefs = diskOf(runtime?.member("imageFs"));
  const containerfs = diskOf(runtime?.member("containerFs")) ?? imagefs;
  return {
    name: node.text("nodeName") ?? "",
    measures: {
      atMs: 0 as WallMs,
      ...memoryMeasures(node),
      ...pidMeasures(node),
      ...(nodefs ? { nodefs } : {}),
      ...(imagefs ? { imagefs } : {}),
      ...(containerfs ? { containerfs } : {}),
    },
    layout: layoutOf(nodefs, imagefs, containerfs),
    usages: new Map(pods.map(recordedUsage)),
  };
}

function memoryMeasures(node: Member): Pick<NodeMeasures, "memory" | "podsMemory"> {
  const memory = memoryOf(node.member("memory"));
  const groups = node.members("systemContainers") ?? [];
  const podsMemory = memoryOf(
    groups.find((group) => group.text("name") === "pods")?.member("memory"),
  );
  return { ...(memory ? { memory } : {}), ...(podsMemory ? { podsMemory } : {}) };
}

/** `availableBytes` is what the limit leaves beside the working set. */
function memoryOf(memory: Member | undefined): MemoryMeasure | undefined {
  const availableBytes = memory?.amount("availableBytes");
  const workingSetBytes = memory?.amount("workingSetBytes");
  return availableBytes === undefined || workingSetBytes === undefined
    ? undefined
    : { limitBytes: availableBytes + workingSetBytes, workingSetBytes };
}

function pidMeasures(node: Member): Pick<NodeMeasures, "pids"> {
  const limits = node.member("rlimit");
  const [max, used] = [limits?.amount("maxpid"), limits?.amount("curproc")];
  return max === undefined || used === undefined ? {} : { pids: { max, used } };
}

function diskOf(fs: Member | undefined): DiskMeasure | undefined {
  const capacityBytes = fs?.amount("capacityBytes");
  const availableBytes = fs?.amount("availableBytes");
  if (capacityBytes === undefined || availableBytes === undefined) return undefined;
  const [inodes = 0, inodesFree = 0] = [fs?.amount("inodes"), fs?.amount("inodesFree")];
  return { capacityBytes, availableBytes, inodes, inodesFree };
}

/** The summary names no devices: file systems of the same size with the same number of inodes count as one. */
function layoutOf(
  nodefs: DiskMeasure | undefined,
  imagefs: DiskMeasure | undefined,
  containerfs: DiskMeasure | undefined,
): DiskLayout {
  if (!nodefs || !imagefs || isSameDisk(nodefs, imagefs)) return "single";
  return containerfs && isSameDisk(nodefs, containerfs) ? "split" : "dedicated";
}

const isSameDisk = (a: DiskMeasure, b: DiskMeasure): boolean =>
  a.capacityBytes === b.capacityBytes && a.inodes === b.inodes;

function recordedUsage(pod: Member): readonly [name: string, usage: PodUsage] {
  const reference = pod.member("podRef");
  const [namespace = "", name = ""] = [reference?.text("namespace"), reference?.text("name")];
  const containers = (pod.members("containers") ?? []).map(containerUsage);
  const tasks = pod.member("process_stats")?.amount("process_count");
  const volumes = (pod.members("volume") ?? []).map((volume) => ({
    name: volume.text("name") ?? "",
    ephemeral: false,
    fs: diskUse(volume),
  }));
  return [
    `${namespace}/${name}`,
    {
      group: { ...workingSet(pod), ...(tasks === undefined ? {} : { tasks }) },
      containers,
      volumes,
    },
  ];
}

function workingSet(of: Member): Pick<NonNullable<PodUsage["group"]>, "memory"> {
  const workingSetBytes = of.member("memory")?.amount("workingSetBytes");
  return workingSetBytes === undefined ? {} : { memory: { workingSetBytes } };
}

function containerUsage(container: Member): ContainerUsage {
  const [rootfs, logs] = [container.member("rootfs"), container.member("logs")];
  return {
    name: container.text("name") ?? "",
    group: workingSet(container),
    ...(rootfs ? { rootfs: diskUse(rootfs) } : {}),
    ...(logs ? { logs: diskUse(logs) } : {}),
  };
}

function diskUse(fs: Member): DiskUse {
  const [usedBytes, inodesUsed] = [fs.amount("usedBytes"), fs.amount("inodesUsed")];
  return {
    ...(usedBytes === undefined ? {} : { usedBytes }),
    ...(inodesUsed === undefined ? {} : { inodesUsed }),
  };
}

/** An object within a document, with its path for messages. Members that are missing or null are `undefined`. */
class Member {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(value: unknown, path: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new UsageError(`${path || "the document"}: must be an object`);
    this.#value = value as Readonly<Record<string, unknown>>;
    this.#path = path;
  }

  member(name: string): Member | undefined {
    const found = this.#value[name] ?? undefined;
    return found === undefined ? undefined : new Member(found, this.#pathOf(name));
  }

  members(name: string): readonly Member[] | undefined {
    const found = this.#value[name] ?? undefined;
    if (found === undefined) return undefined;
    if (!Array.isArray(found)) throw new UsageError(`${this.#pathOf(name)}: must be a list`);
    return found.map((each, at) => new Member(each, `${this.#pathOf(name)}[${at}]`));
  }

  text(name: string): string | undefined {
    const found = this.#value[name] ?? undefined;
    if (found === undefined || typeof found === "string") return found;
    throw new UsageError(`${this.#pathOf(name)}: must be a string`);
  }

  /** A whole number of bytes, inodes or processes. */
  amount(name: string): number | undefined {
    const found = this.#value[name] ?? undefined;
    if (found === undefined) return undefined;
    if (typeof found === "number" && Number.isInteger(found) && found >= 0) return found;
    throw new UsageError(`${this.#pathOf(name)}: must be a whole number, 0 or more`);
  }

  #pathOf(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`;
  }
}

// pure

import type { Pod } from "../../api/generated/types.ts";
import { isCriticalPod, isRestartableInit } from "../../api/pod/pod.ts";
import { aggregateContainerLimits } from "../../api/pod/pod-resources.ts";
import {
  canonicalQuantity,
  formatQuantity,
  parseQuantity,
  quantityFromBytes,
  wholeOf,
} from "../../api/text/quantity.ts";
import type { WallMs } from "../../kit/clock.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import { appendAll, smallest } from "../../kit/limits/lists.ts";
import type { DiskLayout } from "./signals.ts";
import { containerStorageText, emptyDirText, podStorageText } from "./texts.ts";
import {
  type CandidatePod,
  type ContainerUsage,
  type DiskUse,
  ephemeralStorageOf,
  ephemeralVolumesOf,
  type PodUsage,
} from "./usage.ts";

/** Which limit was exceeded, in the words of the Go kubelet's metric. */
type LocalLimit = "emptydirfs.limit" | "ephemeralpodfs.limit" | "ephemeralcontainerfs.limit";

/** A pod that takes more of the node's disk than it may. */
export interface LocalExcess {
  readonly candidate: CandidatePod;
  readonly limit: LocalLimit;
  /** The volume or container; empty for the pod as a whole. */
  readonly what: string;
  readonly usedBytes: number;
  readonly limitBytes: number;
  readonly message: string;
}

const STORAGE = "ephemeral-storage";

/** Whether anything limits what the pod may take of the node's disk: only of such pods disks are measured. */
export function hasLocalLimits(pod: Pod): boolean {
  const { initContainers = [] } = pod.spec ?? {};
  const { emptyDirs, containers } = limitsOf(pod);
  return (
    emptyDirs.length > 0 ||
    containers.size > 0 ||
    initContainers.some(({ resources }) => resources?.limits?.[STORAGE] !== undefined)
  );
}

/** A limit as the pod writes it, and in bytes. */
interface StorageLimit {
  readonly text: string;
  readonly bytes: number;
}

/** What a pod's spec says about its local storage. */
interface StorageLimits {
  readonly isCritical: boolean;
  /** Of volumes on disk; those in memory are held to their size by the kernel. */
  readonly emptyDirs: readonly (StorageLimit & { readonly name: string })[];
  /** Of containers, by name. */
  readonly containers: ReadonlyMap<string, StorageLimit>;
  /** Bytes that all containers together may take, where they have limits. */
  readonly podBytes: number | undefined;
}

const limitsOf = derivedOnce((pod: Pod): StorageLimits => {
  const { volumes = [], containers = [], initContainers = [] } = pod.spec ?? {};
  // A sidecar runs for as long as its pod; what other init containers take counts for the pod only.
  const lasting = [...containers, ...initContainers.filter(isRestartableInit)];
  return {
    isCritical: isCriticalPod(pod),
    emptyDirs: volumes.flatMap(({ name, emptyDir }) => {
      const text = emptyDir && (emptyDir.medium ?? "") === "" ? emptyDir.sizeLimit : undefined;
      const bytes = text === undefined ? 0 : wholeOf(text);
      return text !== undefined && bytes > 0 ? [{ name, text, bytes }] : [];
    }),
    containers: new Map(
      lasting.flatMap(({ name, resources }) => {
        const text = resources?.limits?.[STORAGE];
        return text === undefined ? [] : [[name, { text, bytes: wholeOf(text) }] as const];
      }),
    ),
    podBytes: aggregateContainerLimits(pod).get(STORAGE),
  };
});

/**
 * The pods that exceed a limit of their own, each with the first one that it exceeds: of an emptyDir, of its
 * containers together, of one container (eviction_manager.go localStorageEviction). Critical pods are left alone.
 */
export function localExcesses(
  pods: readonly CandidatePod[],
  layout: DiskLayout,
): readonly LocalExcess[] {
  return pods.flatMap((candidate) => {
    const { pod, usage, ending } = candidate;
    if (!usage || ending !== "no") return [];
    const limits = limitsOf(pod);
    if (limits.isCritical) return [];
    const found =
      emptyDirExcess(limits, usage) ??
      podExcess(pod, limits, usage) ??
      containerExcess(limits, usage, layout);
    return found ? [{ candidate, ...found }] : [];
  });
}

/** How far a pod is from the nearest of its limits. */
interface LocalHeadroom {
  /** Bytes that may be written before a limit is exceeded; negative where one is. */
  readonly bytes: number;
  /** When the oldest of the figures was taken that this was computed from. */
  readonly atMs: WallMs;
}

/** The headroom of a pod; undefined where a figure is missing that one of its limits is compared with. */
export function localHeadroom(
  pod: Pod,
  usage: PodUsage,
  layout: DiskLayout,
): LocalHeadroom | undefined {
  const { emptyDirs, containers, podBytes } = limitsOf(pod);
  const left: number[] = [];
  const uses: (DiskUse | undefined)[] = [];
  for (const { name: of, bytes } of emptyDirs) {
    const volume = usage.volumes.find(({ name }) => name === of)?.fs;
    left.push(bytes - (volume?.usedBytes ?? 0));
    uses.push(volume);
  }
  if (podBytes !== undefined) {
    left.push(podBytes - ephemeralStorageOf(usage));
    appendAll(uses, ephemeralVolumesOf(usage));
    if (usage.managedFiles) uses.push(usage.managedFiles);
    // A limit of a container is one of its pod, too.
    for (const container of usage.containers) {
      const limitBytes = containers.get(container.name)?.bytes ?? 0;
      if (limitBytes > 0) left.push(limitBytes - containerStorageOf(container, layout));
      uses.push(container.rootfs, container.logs);
    }
  }
  const times = uses.map((use) => use?.atMs);
  if (left.length === 0 || times.length === 0 || !times.every((at) => at !== undefined))
    return undefined;
  return { bytes: smallest(left), atMs: smallest(times) as WallMs };
}

type Excess = Omit<LocalExcess, "candidate">;

function emptyDirExcess({ emptyDirs }: StorageLimits, { volumes }: PodUsage): Excess | undefined {
  for (const { name: what, text, bytes: limitBytes } of emptyDirs) {
    const usedBytes = volumes.find(({ name }) => name === what)?.fs.usedBytes;
    if (usedBytes === undefined || usedBytes <= limitBytes) continue;
    const message = emptyDirText(what, formatQuantity(parseQuantity(text)));
    return { limit: "emptydirfs.limit", what, usedBytes, limitBytes, message };
  }
  return undefined;
}

function podExcess(
  pod: Pod,
  { podBytes: limitBytes }: StorageLimits,
  usage: PodUsage,
): Excess | undefined {
  if (limitBytes === undefined) return undefined;
  const usedBytes = ephemeralStorageOf(usage);
  if (usedBytes <= limitBytes) return undefined;
  const message = podStorageText(sumText(pod, limitBytes));
  return { limit: "ephemeralpodfs.limit", what: "", usedBytes, limitBytes, message };
}

/** A sum is written as its first part is: with binary or with decimal suffixes. */
function sumText({ spec }: Pod, bytes: number): string {
  const first = spec?.containers.find(
    ({ resources }) => resources?.limits?.[STORAGE] !== undefined,
  );
  const format = parseQuantity(first?.resources?.limits?.[STORAGE] ?? "1Ki").format;
  return canonicalQuantity({ ...quantityFromBytes(bytes), format });
}

function containerExcess(
  { containers: limits }: StorageLimits,
  { containers }: PodUsage,
  layout: DiskLayout,
): Excess | undefined {
  for (const container of containers) {
    const { name } = container;
    const { text, bytes: limitBytes } = limits.get(name) ?? { text: "", bytes: 0 };
    const usedBytes = containerStorageOf(container, layout);
    if (limitBytes === 0 || usedBytes <= limitBytes) continue;
    const message = containerStorageText(name, formatQuantity(parseQuantity(text)));
    return { limit: "ephemeralcontainerfs.limit", what: name, usedBytes, limitBytes, message };
  }
  return undefined;
}

/** Layers on a file system of their own are not the node's local storage. */
function containerStorageOf({ logs, rootfs }: ContainerUsage, layout: DiskLayout): number {
  return (logs?.usedBytes ?? 0) + (layout === "single" ? (rootfs?.usedBytes ?? 0) : 0);
}

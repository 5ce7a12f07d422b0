// pure
import type { Pod } from "../../api/generated/types.ts";
import { isCriticalPod } from "../../api/pod/pod.ts";
import { aggregateContainerLimits } from "../../api/pod/pod-resources.ts";
import {
  canonicalQuantity,
  formatQuantity,
  parseQuantity,
  quantityFromBytes,
  wholeOf,
} from "../../api/text/quantity.ts";
import type { DiskLayout } from "./signals.ts";
import { containerStorageText, emptyDirText, podStorageText } from "./texts.ts";
import { type CandidatePod, ephemeralStorageOf, type PodUsage } from "./usage.ts";

/** Which limit was exceeded, in the words of the Go kubelet's metric. */
export type LocalLimit = "emptydirfs.limit" | "ephemeralpodfs.limit" | "ephemeralcontainerfs.limit";

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
  const { volumes = [], containers = [], initContainers = [] } = pod.spec ?? {};
  return (
    [...containers, ...initContainers].some(
      ({ resources }) => resources?.limits?.[STORAGE] !== undefined,
    ) || volumes.some((volume) => limitedEmptyDir(volume) !== undefined)
  );
}

/** The limit of an emptyDir on disk; one in memory is held to its size by the kernel. */
function limitedEmptyDir({
  emptyDir,
}: NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number]): string | undefined {
  if (!emptyDir || (emptyDir.medium ?? "") !== "") return undefined;
  const { sizeLimit } = emptyDir;
  return sizeLimit !== undefined && wholeOf(sizeLimit) > 0 ? sizeLimit : undefined;
}

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
    if (!usage || ending !== "no" || isCriticalPod(pod)) return [];
    const found =
      emptyDirExcess(pod, usage) ?? podExcess(pod, usage) ?? containerExcess(pod, usage, layout);
    return found ? [{ candidate, ...found }] : [];
  });
}

type Excess = Omit<LocalExcess, "candidate">;

function emptyDirExcess({ spec }: Pod, { volumes }: PodUsage): Excess | undefined {
  for (const volume of spec?.volumes ?? []) {
    const text = limitedEmptyDir(volume);
    const usedBytes = volumes.find(({ name }) => name === volume.name)?.usedBytes;
    if (text === undefined || usedBytes === undefined) continue;
    const limitBytes = wholeOf(text);
    if (usedBytes <= limitBytes) continue;
    const message = emptyDirText(volume.name, formatQuantity(parseQuantity(text)));
    return { limit: "emptydirfs.limit", what: volume.name, usedBytes, limitBytes, message };
  }
  return undefined;
}

function podExcess(pod: Pod, usage: PodUsage): Excess | undefined {
  const limitBytes = aggregateContainerLimits(pod).get(STORAGE);
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
  { spec }: Pod,
  { containers }: PodUsage,
  layout: DiskLayout,
): Excess | undefined {
  for (const { name, logs, rootfs } of containers) {
    const container = spec?.containers.find((each) => each.name === name);
    const text = container?.resources?.limits?.[STORAGE];
    const limitBytes = text === undefined ? 0 : wholeOf(text);
    // Layers on a file system of their own are not the node's local storage.
    const layer = layout === "single" ? (rootfs?.usedBytes ?? 0) : 0;
    const usedBytes = (logs?.usedBytes ?? 0) + layer;
    if (text === undefined || limitBytes === 0 || usedBytes <= limitBytes) continue;
    const message = containerStorageText(name, formatQuantity(parseQuantity(text)));
    return { limit: "ephemeralcontainerfs.limit", what: name, usedBytes, limitBytes, message };
  }
  return undefined;
}

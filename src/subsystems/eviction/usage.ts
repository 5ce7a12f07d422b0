// pure
import type { FsFigures, MemoryFigures, VolumeFigures } from "../../api/figures/figures.ts";
import type { EvictionSignal } from "../../api/node/eviction-signals.ts";
import type { IdentifiedPod, PodUid } from "../../api/pod-identity.ts";
import type { WallMs } from "../../kit/clock.ts";
import { largest } from "../../kit/limits/lists.ts";
import { type DiskLayout, type DiskPart, diskPartsFor, SIGNAL_FACTS } from "./signals.ts";

/** Usage of a file system; values not measured are missing. */
export type DiskUse = Partial<Pick<FsFigures, "atMs" | "usedBytes" | "inodesUsed">>;

interface GroupUsage {
  readonly memory?: Pick<MemoryFigures, "workingSetBytes">;
  /** Processes and threads. */
  readonly tasks?: number;
}

/** Usage of one container. */
export interface ContainerUsage {
  readonly name: string;
  readonly group?: GroupUsage;
  /** Its writable layer. */
  readonly rootfs?: DiskUse;
  readonly logs?: DiskUse;
}

/** Usage of a pod: the part of its `PodFigures` that it is judged by. */
export interface PodUsage {
  /** Of its cgroup. */
  readonly group?: GroupUsage | undefined;
  readonly containers: readonly ContainerUsage[];
  /** Volumes that the agent measures; `ephemeral` ones take space of the node's file system. */
  readonly volumes: readonly (Pick<VolumeFigures, "name" | "ephemeral"> & {
    readonly fs: DiskUse;
  })[];
  /** Files on the node's file system that the agent keeps for containers to write to, such as `/etc/hosts`. */
  readonly managedFiles?: DiskUse;
}

/** The working set of a pod or container, where it was measured. */
export const workingSetOf = ({ group }: { readonly group?: GroupUsage | undefined }) =>
  group?.memory?.workingSetBytes;

/** A pod that may be evicted. */
export interface CandidatePod {
  readonly uid: PodUid;
  readonly pod: IdentifiedPod;
  /** Missing when nothing of it could be measured. */
  readonly usage: PodUsage | undefined;
  /** Whether it is being terminated already; `overdue` when that takes longer than it should. */
  readonly ending: "no" | "deleted" | "evicted" | "overdue";
}

/** How much of the resource behind a signal the pod uses; 0 for what was not measured. */
export function usedFor(signal: EvictionSignal, usage: PodUsage, layout: DiskLayout): number {
  const { resource, disk } = SIGNAL_FACTS[signal];
  switch (resource) {
    case "memory":
      return workingSetOf(usage) ?? 0;
    case "pids":
      return usage.group?.tasks ?? 0;
    case "ephemeral-storage":
      return sumOfParts(usage, diskPartsFor(disk ?? "nodefs", layout), "usedBytes");
    case "inodes":
      return sumOfParts(usage, diskPartsFor(disk ?? "nodefs", layout), "inodesUsed");
    default:
      return resource satisfies never;
  }
}

const ALL_PARTS: readonly DiskPart[] = ["rootfs", "logs", "volumes"];

/** Bytes of layers, logs, managed files and ephemeral volumes of the pod together. */
export const ephemeralStorageOf = (usage: PodUsage): number =>
  sumOfParts(usage, ALL_PARTS, "usedBytes");

/** Usage of each volume that takes space of the node's file system. */
export const ephemeralVolumesOf = ({ volumes }: PodUsage): readonly DiskUse[] =>
  volumes.filter(({ ephemeral }) => ephemeral).map(({ fs }) => fs);

function sumOfParts(usage: PodUsage, parts: readonly DiskPart[], of: keyof DiskUse): number {
  const sum = (uses: readonly (DiskUse | undefined)[]) =>
    uses.reduce((total, use) => total + (use?.[of] ?? 0), 0);
  return parts.reduce((total, part) => {
    if (part === "volumes") return total + sum([...ephemeralVolumesOf(usage), usage.managedFiles]);
    return total + sum(usage.containers.map((container) => container[part]));
  }, 0);
}

/** When the last of the writable layers was measured; undefined where none was. */
export function lastLayerAt(usages: ReadonlyMap<string, PodUsage>): WallMs | undefined {
  const times = [...usages.values()].flatMap(({ containers }) =>
    containers.flatMap(({ rootfs }) => rootfs?.atMs ?? []),
  );
  return times.length === 0 ? undefined : (largest(times) as WallMs);
}

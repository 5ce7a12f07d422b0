// pure

import type { IdentifiedPod, PodUid } from "../../api/pod-identity.ts";
import type { EvictionSignal } from "../../config/validation/eviction-thresholds.ts";
import type { WallMs } from "../../kit/clock.ts";
import { largest } from "../../kit/limits/lists.ts";
import { type DiskLayout, type DiskPart, diskPartsFor, SIGNAL_FACTS } from "./signals.ts";

/** Usage of a file system; values not measured are missing. */
export interface DiskUse {
  readonly atMs?: WallMs;
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
}

/** Usage of one container. */
export interface ContainerUsage {
  readonly name: string;
  /** Its working set. */
  readonly memoryBytes?: number;
  /** Its writable layer. */
  readonly rootfs?: DiskUse;
  readonly logs?: DiskUse;
}

/** Measured usage of a pod. */
export interface PodUsage {
  /** Working set of its cgroup. */
  readonly memoryBytes?: number;
  /** Processes and threads. */
  readonly tasks?: number;
  readonly containers: readonly ContainerUsage[];
  /** Volumes that the agent measures; `ephemeral` ones take space of the node's file system. */
  readonly volumes: readonly (DiskUse & { readonly name: string; readonly ephemeral: boolean })[];
  /** Files on the node's file system that the agent keeps for containers to write to, such as `/etc/hosts`. */
  readonly managedFiles?: DiskUse;
}

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
      return usage.memoryBytes ?? 0;
    case "pids":
      return usage.tasks ?? 0;
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

function sumOfParts(usage: PodUsage, parts: readonly DiskPart[], of: keyof DiskUse): number {
  const sum = (uses: readonly (DiskUse | undefined)[]) =>
    uses.reduce((total, use) => total + (use?.[of] ?? 0), 0);
  return parts.reduce((total, part) => {
    if (part === "volumes")
      return (
        total + sum([...usage.volumes.filter(({ ephemeral }) => ephemeral), usage.managedFiles])
      );
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

// pure
import { availableMemory } from "../../api/figures/figures.ts";
import type { EvictionSignal } from "../../api/node/eviction-signals.ts";
import type { NodeMeasures } from "./measures.ts";

/** The resource that a signal reports a shortage of; `inodes` and `pids` are names that only eviction uses. */
export type StarvedResource = "memory" | "ephemeral-storage" | "inodes" | "pids";

/** The conditions of a node that pressure sets. */
export type PressureCondition = "MemoryPressure" | "DiskPressure" | "PIDPressure";

/** The file systems that disk signals are about. */
export type DiskName = "nodefs" | "imagefs" | "containerfs";

/**
 * Which of them are the same: one for all (`single`), images and writable layers apart from the rest
 * (`dedicated`), or images alone apart and writable layers with the rest (`split`).
 */
export type DiskLayout = "single" | "dedicated" | "split";

/** Capacity and available amount of a resource, in bytes, inodes or processes. */
export interface SignalAmounts {
  readonly available: number;
  readonly capacity: number;
}

/** Properties of a signal. */
interface SignalFacts {
  readonly resource: StarvedResource;
  readonly condition: PressureCondition;
  /** Of disk signals. */
  readonly disk?: DiskName;
  /** Its amounts on a measured machine; `undefined` where they could not be measured. */
  readonly observe: (measures: NodeMeasures) => SignalAmounts | undefined;
}

const memory = (of: "memory" | "podsMemory"): SignalFacts => ({
  resource: "memory",
  condition: "MemoryPressure",
  observe: ({ [of]: measured }) => measured && availableMemory(measured),
});

const space = (disk: DiskName): SignalFacts => ({
  resource: "ephemeral-storage",
  condition: "DiskPressure",
  disk,
  observe: ({ [disk]: of }) => of && { available: of.availableBytes, capacity: of.capacityBytes },
});

const inodes = (disk: DiskName): SignalFacts => ({
  resource: "inodes",
  condition: "DiskPressure",
  disk,
  // File systems that make inodes as they need them (btrfs) say that there are none at all.
  observe: ({ [disk]: of }) =>
    of && of.inodes > 0 ? { available: of.inodesFree, capacity: of.inodes } : undefined,
});

/** Every signal (pkg/kubelet/eviction helpers.go signalToResource, signalToNodeCondition). */
export const SIGNAL_FACTS: Readonly<Record<EvictionSignal, SignalFacts>> = {
  "memory.available": memory("memory"),
  "allocatableMemory.available": memory("podsMemory"),
  "nodefs.available": space("nodefs"),
  "nodefs.inodesFree": inodes("nodefs"),
  "imagefs.available": space("imagefs"),
  "imagefs.inodesFree": inodes("imagefs"),
  "containerfs.available": space("containerfs"),
  "containerfs.inodesFree": inodes("containerfs"),
  "pid.available": {
    resource: "pids",
    condition: "PIDPressure",
    observe: ({ pids }) =>
      pids && { available: Math.max(0, pids.max - pids.used), capacity: pids.max },
  },
};

/** The conditions in the order in which they are reported. */
export const PRESSURE_CONDITIONS: readonly PressureCondition[] = [
  "MemoryPressure",
  "DiskPressure",
  "PIDPressure",
];

/** Node-level resources that can be reclaimed before a pod is evicted. */
export type ReclaimStep = "containers" | "images";

const BOTH: readonly ReclaimStep[] = ["containers", "images"];

/**
 * Resources to reclaim for a signal, in this order: dead containers, then unused images
 * (helpers.go buildSignalToNodeReclaimFuncs).
 */
export function reclaimStepsFor(
  signal: EvictionSignal,
  layout: DiskLayout,
): readonly ReclaimStep[] {
  const { disk } = SIGNAL_FACTS[signal];
  if (disk === undefined) return [];
  switch (layout) {
    case "single":
      return BOTH;
    case "dedicated":
      return disk === "nodefs" ? [] : BOTH;
    case "split":
      return disk === "imagefs" ? ["images"] : ["containers"];
    default:
      return layout satisfies never;
  }
}

/** The parts of a pod's usage of disks. */
export type DiskPart = "rootfs" | "logs" | "volumes";

/**
 * Which parts of a pod's usage lie on the file system of a signal (helpers.go buildSignalToRankFunc). Images
 * are shared and count for no pod.
 */
export function diskPartsFor(disk: DiskName, layout: DiskLayout): readonly DiskPart[] {
  switch (layout) {
    case "single":
      return ["rootfs", "logs", "volumes"];
    case "dedicated":
      return disk === "nodefs" ? ["logs", "volumes"] : ["rootfs"];
    case "split":
      return disk === "imagefs" ? [] : ["logs", "volumes", "rootfs"];
    default:
      return layout satisfies never;
  }
}

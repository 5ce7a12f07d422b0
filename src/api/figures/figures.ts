// pure
import type { WallMs } from "../../kit/clock.ts";

/** CPU time of a group since it was made. */
export interface CpuFigures {
  readonly usageNanos: number;
  readonly userNanos?: number;
  readonly systemNanos?: number;
  /** Of the quota, where the group has one. */
  readonly periods?: number;
  readonly throttledPeriods?: number;
  readonly throttledNanos?: number;
}

/** Memory of a group with all beneath it. */
export interface MemoryFigures {
  readonly usageBytes: number;
  /** Working set: usage without inactive file pages. */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedBytes: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  /** Cumulative. */
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  /** Absent when there is no limit. */
  readonly limitBytes?: number;
  /** Of the limit, what is set aside for huge pages; absent where it counts as available. */
  readonly hugepageBytes?: number;
  readonly kernelBytes?: number;
  readonly peakBytes?: number;
  /** How often the limit was reached. */
  readonly failures?: number;
  /** Times that tasks were slowed down at `memory.high`; version 2 only. */
  readonly highEvents?: number;
  /** Times that usage met `memory.max`; version 2 only. */
  readonly maxEvents?: number;
}

/** What is left of the limit without huge pages, and how much that could be; `undefined` without a limit. */
export function availableMemory({
  limitBytes,
  workingSetBytes,
  hugepageBytes = 0,
}: Pick<MemoryFigures, "limitBytes" | "workingSetBytes" | "hugepageBytes">):
  | { readonly available: number; readonly capacity: number }
  | undefined {
  if (limitBytes === undefined) return undefined;
  const capacity = Math.max(0, limitBytes - hugepageBytes);
  return { available: Math.max(0, capacity - workingSetBytes), capacity };
}

/** Swap of a group; absent where it is not counted. */
export interface SwapFigures {
  readonly usageBytes: number;
  readonly limitBytes?: number;
}

/** Waiting for one resource (PSI): percentages of the last 10, 60, 300 seconds, and microseconds in all. */
export interface PressureLine {
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
  readonly total: number;
}

/** Pressure on one resource: some tasks waited, or all of them did. */
export interface Pressure {
  readonly some: PressureLine;
  readonly full: PressureLine;
}

/** Pressure by resource, as far as the kernel reports it. */
export interface PressureFigures {
  readonly cpu?: Pressure;
  readonly memory?: Pressure;
  readonly io?: Pressure;
}

/** Huge pages of one size that a group holds. */
export interface HugepageFigures {
  /** As the kernel writes it: `2MB`, `1GB`. */
  readonly size: string;
  readonly usageBytes: number;
  readonly peakBytes?: number;
  readonly failures?: number;
}

/** Bytes and operations of a group on one device; cumulative. */
export interface DeviceFigures {
  /** `major:minor`. */
  readonly device: string;
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/** Limits of CPU time as they are in force. */
export interface CpuSpec {
  readonly shares: number;
  readonly periodUs: number;
  /** Absent when there is no quota. */
  readonly quotaUs?: number;
}

/** Everything known of one group at one moment. What the kernel does not report is absent. */
export interface GroupFigures {
  readonly atMs: WallMs;
  readonly cpu?: CpuFigures;
  readonly memory?: MemoryFigures;
  readonly swap?: SwapFigures;
  /** Tasks (processes with all their threads), as limits count them. */
  readonly tasks?: number;
  /** Most tasks; 0 without a limit. */
  readonly maxTasks?: number;
  /** Memory that is kept for the group, `memory.min` or the soft limit; absent when there is none. */
  readonly memoryReservationBytes?: number;
  readonly pressure: PressureFigures;
  readonly hugepages: readonly HugepageFigures[];
  readonly devices: readonly DeviceFigures[];
  readonly cpuSpec?: CpuSpec;
  /** Average since an earlier sample; absent at the first. */
  readonly nanoCores?: number;
}

/** Traffic of one network interface since it was created. */
export interface InterfaceFigures {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

/** Processes of a container and what they have open. */
export interface ProcessFigures {
  readonly processes: number;
  /** Absent when there are too many processes to inspect each. */
  readonly fileDescriptors?: number;
  /** Absent when there are too many descriptors to inspect each. */
  readonly sockets?: number;
  /** How many files the first process may open; -1 without a limit. */
  readonly maxOpenFiles?: number;
}

/** Work of a disk since the machine was started, as `/proc/diskstats` counts it. Times are in milliseconds. */
export interface DiskWork {
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMs: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMs: number;
  readonly inProgress: number;
  readonly busyMs: number;
  readonly weightedMs: number;
}

/** Usage of a file system, or of one consumer on it. */
export interface FsFigures {
  readonly atMs: WallMs;
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
  readonly capacityBytes?: number;
  readonly availableBytes?: number;
  readonly inodes?: number;
  readonly inodesFree?: number;
  /** Number of the device. */
  readonly device?: number;
}

/** Measurements of one container. */
export interface ContainerFigures {
  readonly name: string;
  readonly id: string;
  readonly image: string;
  readonly startedAtMs: WallMs | undefined;
  /** Path of its group. */
  readonly path: string;
  readonly group: GroupFigures;
  readonly processes?: ProcessFigures;
  readonly rootfs?: FsFigures;
  readonly logs?: FsFigures;
}

/** Space a volume takes. */
export interface VolumeFigures {
  readonly name: string;
  readonly fs: FsFigures;
  /** Whether it counts as the pod's ephemeral storage. */
  readonly ephemeral: boolean;
  /** The claim it comes from. */
  readonly claim?: { readonly namespace: string; readonly name: string };
}

/** Measurements of one pod. */
export interface PodFigures {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly startedAtMs: WallMs | undefined;
  readonly sandboxId: string | undefined;
  readonly path: string;
  readonly group: GroupFigures | undefined;
  /** Absent for pods in the network of the node. */
  readonly network: readonly InterfaceFigures[] | undefined;
  readonly containers: readonly ContainerFigures[];
  readonly volumes: readonly VolumeFigures[];
  /** What its containers wrote to files that the agent keeps for them; see `MeasuredPod.managedFiles`. */
  readonly managedFiles?: FsFigures;
}

/** A group beside the pods that is watched: all pods, a class of service, the agent itself. */
export interface NamedGroup {
  readonly name: string;
  readonly path: string;
  readonly group: GroupFigures;
}

/** Measurements of the machine. */
export interface NodeFigures {
  readonly bootedAtMs: WallMs | undefined;
  readonly group: GroupFigures;
  readonly network: readonly InterfaceFigures[];
  readonly defaultInterface: string | undefined;
  readonly groups: readonly NamedGroup[];
  /** Tasks of the machine. */
  readonly tasks: number | undefined;
  readonly fs?: FsFigures;
  readonly imageFs?: FsFigures;
  /** The same as `imageFs` where the runtime does not distinguish them. */
  readonly containerFs?: FsFigures;
  /** By `major:minor`. */
  readonly disks?: ReadonlyMap<string, DiskWork>;
}

/** The part of the machine that pressure is judged by. */
export type MachineFigures = Pick<NodeFigures, "group" | "groups" | "tasks"> & {
  readonly atMs: WallMs;
};

/** Disk usage of one pod. */
export interface PodStorage {
  readonly containers: readonly Pick<ContainerFigures, "name" | "rootfs" | "logs">[];
  readonly volumes: readonly VolumeFigures[];
  readonly managedFiles?: FsFigures;
}

/** The whole node at one moment. */
export interface Measurement {
  readonly atMs: WallMs;
  readonly node: NodeFigures;
  readonly pods: readonly PodFigures[];
}

// pure
import type { CgroupDriver, CgroupName } from "./names.ts";
import type { CgroupShape } from "./writes.ts";

/** Amounts of a node or of a reservation; what is absent is 0. */
export interface NodeAmounts {
  readonly cpuMilli?: number;
  readonly memoryBytes?: number;
  readonly pids?: number;
  /** Bytes by page size (`2MB`). */
  readonly hugepages?: Readonly<Record<string, number>>;
}

/** How memory requests are protected on v2 (gate MemoryQoS). */
export interface MemoryQos {
  readonly reservation: "None" | "TieredReservation";
  /** Share of the way from request to limit at which a container is throttled; absent: none is. */
  readonly throttlingFactor?: number;
  readonly pageBytes: number;
}

/** A group of the machine itself that its reservation is enforced on. */
export interface ReservedGroup {
  /** In cgroupfs form; must be there. */
  readonly path: string;
  readonly amounts: NodeAmounts;
  /** Only CPU is enforced. */
  readonly compressibleOnly: boolean;
}

/** Everything the plans depend on apart from pods: the machine and the configuration. */
export interface CgroupSettings extends CgroupShape {
  readonly driver: CgroupDriver;
  readonly root: CgroupName;
  readonly capacity: NodeAmounts;
  readonly systemReserved: NodeAmounts;
  readonly kubeReserved: NodeAmounts;
  /** `pods` is enforced: the pods' group leaves out what is reserved. */
  readonly enforcePods: boolean;
  readonly reservedGroups: readonly ReservedGroup[];
  /** CPUs of all pods as the kernel lists them; absent where not needed. */
  readonly cpus?: string;
  /** Page sizes of the machine in the kernel's spelling. */
  readonly hugepageSizes: readonly string[];
  readonly cpuCfsQuota: boolean;
  readonly cpuPeriodUs: number;
  /** Most processes of a pod; 0 or less is no limit. */
  readonly podPids: number;
  /** Percent of memory requests that lower classes may not use; absent is off. */
  readonly qosReservedMemoryPercent?: number;
  readonly memoryQos?: MemoryQos;
  /** Bytes of a memory page: limits are kept in whole pages. */
  readonly pageBytes: number;
  readonly singleProcessOomKill: boolean;
  readonly swap: {
    readonly behavior: "NoSwap" | "LimitedSwap";
    /** The kernel can account swap by group. */
    readonly controlled: boolean;
    readonly bytes: number;
  };
}

/** `capacity` less all `reserved`, nothing below 0. */
export function lessReserved(
  capacity: NodeAmounts,
  reserved: readonly NodeAmounts[],
): Required<NodeAmounts> {
  const left = (amount: (of: NodeAmounts) => number) =>
    Math.max(0, amount(capacity) - reserved.reduce((sum, of) => sum + amount(of), 0));
  const hugepages: Record<string, number> = {};
  for (const size of Object.keys(capacity.hugepages ?? {})) {
    hugepages[size] = left((of) => of.hugepages?.[size] ?? 0);
  }
  return {
    cpuMilli: left((of) => of.cpuMilli ?? 0),
    memoryBytes: left((of) => of.memoryBytes ?? 0),
    pids: left((of) => of.pids ?? 0),
    hugepages,
  };
}

/**
 * Resources of the pods' group: capacity less reservations, eviction thresholds not counted; with `pods`
 * not enforced all of the capacity. Source: kubelet cm getNodeAllocatableInternalAbsolute.
 */
export function podsBudget(settings: CgroupSettings): Required<NodeAmounts> {
  const reserved = settings.enforcePods ? [settings.systemReserved, settings.kubeReserved] : [];
  return lessReserved(settings.capacity, reserved);
}

/** Memory left by the reservations whatever is enforced, as limits of classes and containers count it. */
export function allocatableMemoryBytes(settings: CgroupSettings): number {
  const reserved = [settings.systemReserved, settings.kubeReserved];
  return lessReserved(settings.capacity, reserved).memoryBytes;
}

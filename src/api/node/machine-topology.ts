// pure

/** What the machine is made of, as the managers of CPUs and memory see it. */
export interface MachineTopology {
  /** CPUs that are online, ascending. */
  readonly cpus: readonly LogicalCpu[];
  /** NUMA nodes that are online, ascending, also those without CPUs or without memory. At least one. */
  readonly nodes: readonly NumaNode[];
}

/** One thread of a core. */
export interface LogicalCpu {
  readonly id: number;
  /** Lowest CPU of its core: unique over the machine, unlike the kernel's number of the core. */
  readonly core: number;
  readonly socket: number;
  /** NUMA node. */
  readonly node: number;
  /** Lowest CPU of those that share its L3 cache ("uncore cache"); of its socket where no L3 is reported. */
  readonly cache: number;
}

/** Memory and CPUs that are close to one another. */
export interface NumaNode {
  readonly id: number;
  readonly cpus: readonly number[];
  readonly memoryBytes: number;
  /** By size, ascending; only sizes that the node has a pool for. */
  readonly hugePages: readonly { readonly pageSizeBytes: number; readonly pages: number }[];
  /** Distance to each of the machine's nodes in their order (10: itself); `undefined` where the kernel has none. */
  readonly distances: readonly number[] | undefined;
}

// pure
import type { MemoryFigures } from "../../api/figures/figures.ts";
import type { WallMs } from "../../kit/clock.ts";

/** A limit, where there is one, what of it is no ordinary memory, and the usage that cannot easily be reclaimed. */
export type MemoryMeasure = Pick<MemoryFigures, "limitBytes" | "workingSetBytes" | "hugepageBytes">;

/** A file system as the kernel describes it. */
export interface DiskMeasure {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/** The machine at one moment; what could not be measured is missing. */
export interface NodeMeasures {
  readonly atMs: WallMs;
  readonly memory?: MemoryMeasure | undefined;
  /** Of the cgroup that holds all pods, where it has a limit. */
  readonly podsMemory?: MemoryMeasure | undefined;
  readonly nodefs?: DiskMeasure;
  readonly imagefs?: DiskMeasure;
  readonly containerfs?: DiskMeasure;
  readonly pids?: { readonly max: number; readonly used: number };
}

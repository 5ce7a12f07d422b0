// pure
import {
  canonicalQuantity,
  quantityFromBytes,
  quantityFromCount,
} from "../../api/text/quantity.ts";
import type { EvictionSignal } from "../../config/validation/eviction-thresholds.ts";
import type { WallMs } from "../../kit/clock.ts";
import { SIGNAL_FACTS } from "./signals.ts";

/** Capacity and available amount of a resource, in bytes, inodes or processes. */
export interface SignalObservation {
  readonly available: number;
  readonly capacity: number;
  /** When it was measured. */
  readonly atMs: WallMs;
}

/** Observation of each signal; signals that could not be measured are missing. */
export type SignalObservations = ReadonlyMap<EvictionSignal, SignalObservation>;

/** A limit and what of it cannot easily be taken back. */
export interface MemoryMeasure {
  readonly limitBytes: number;
  readonly workingSetBytes: number;
}

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
  readonly memory?: MemoryMeasure;
  /** Of the cgroup that holds all pods, where it has a limit. */
  readonly podsMemory?: MemoryMeasure;
  readonly nodefs?: DiskMeasure;
  readonly imagefs?: DiskMeasure;
  readonly containerfs?: DiskMeasure;
  readonly pids?: { readonly max: number; readonly used: number };
}

/** The signals of a measured machine (helpers.go makeSignalObservations). */
export function observationsOf(measures: NodeMeasures): SignalObservations {
  const { atMs, memory, podsMemory, pids } = measures;
  const found = new Map<EvictionSignal, SignalObservation>();
  const note = (signal: EvictionSignal, available: number, capacity: number) =>
    found.set(signal, { available, capacity, atMs });
  if (memory) note("memory.available", leftOf(memory), memory.limitBytes);
  if (podsMemory) note("allocatableMemory.available", leftOf(podsMemory), podsMemory.limitBytes);
  for (const name of ["nodefs", "imagefs", "containerfs"] as const) {
    const disk = measures[name];
    if (!disk) continue;
    note(`${name}.available`, disk.availableBytes, disk.capacityBytes);
    // File systems that make inodes as they need them (btrfs) say that there are none at all.
    if (disk.inodes > 0) note(`${name}.inodesFree`, disk.inodesFree, disk.inodes);
  }
  if (pids) note("pid.available", Math.max(0, pids.max - pids.used), pids.max);
  return found;
}

function leftOf({ limitBytes, workingSetBytes }: MemoryMeasure): number {
  return Math.max(0, limitBytes - workingSetBytes);
}

/** An observed amount as the Go kubelet writes it: bytes with binary suffixes, counts with decimal ones. */
export function amountText(signal: EvictionSignal, amount: number): string {
  const { resource } = SIGNAL_FACTS[signal];
  const isBytes = resource === "memory" || resource === "ephemeral-storage";
  return canonicalQuantity(isBytes ? quantityFromBytes(amount) : quantityFromCount(amount));
}

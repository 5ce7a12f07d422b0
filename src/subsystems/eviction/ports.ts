import type { AvailableByDevice } from "./due-storage.ts";
import type { NodeMeasures } from "./measures.ts";
import type { DiskLayout, ReclaimStep } from "./signals.ts";
import type { CandidatePod, PodUsage } from "./usage.ts";

/** A pod that is to be evicted, and how. */
export interface EvictionRequest {
  readonly uid: string;
  readonly graceSeconds: number;
  /** Message of the status. */
  readonly message: string;
  /** Whether the condition DisruptionTarget says that the pod was not at fault. */
  readonly disrupted: boolean;
}

/** The machine as a round finds it. */
export interface MeasuredNode {
  readonly measures: NodeMeasures;
  readonly layout: DiskLayout;
  /** Undefined where a file system that local storage lies on could not be asked. */
  readonly available: AvailableByDevice | undefined;
}

/** Dependencies of eviction. */
export interface EvictionPorts {
  /** Measures the machine. Throws `OutsideError`. */
  measureNode(signal: AbortSignal): Promise<MeasuredNode>;
  /** Whether there are pods that the runtime has not listed yet: one of them may be the right one to go. */
  hasUnobservedPods(): boolean;
  /** The pods that have not ended. */
  candidates(): readonly Omit<CandidatePod, "usage">[];
  /** Current usage of all pods; with `disks` also of file systems. Throws `OutsideError`. */
  measurePods(
    options: { readonly disks: boolean },
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodUsage>>;
  /**
   * As `measurePods` with disks, of which no figure is older than the call; with `layers` the runtime's next measurement
   * of writable layers is waited for, but not for long. Throws `OutsideError`.
   */
  remeasurePods(
    options: { readonly layers: boolean },
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodUsage>>;
  /** Disk usage of these pods only. Throws `OutsideError`. */
  measureStorage(
    uids: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, PodUsage>>;
  /** Takes back what the node itself can do without. Throws `OutsideError`. */
  reclaim(step: ReclaimStep, signal: AbortSignal): Promise<void>;
  /** Begins to end a pod. */
  evict(request: EvictionRequest): void;
  /** UIDs of pods that were evicted, also in a previous run, and still run or take space. */
  leavingPods(): readonly string[];
  /** Resolves when nothing of these pods runs or takes space any more. */
  untilCleanedUp(uids: readonly string[], signal: AbortSignal): Promise<void>;
}

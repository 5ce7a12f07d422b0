// pure
import type { MonotonicMs } from "../../kit/clock.ts";

/**
 * What is known of the shared part of a volume. `uncertain`: the driver may have staged it, or may be at it; for starting
 * containers it counts as not there, for taking away as there.
 */
type StagingState = "none" | "uncertain" | "staged";

/** A pod's part of a volume. */
export interface PodUse {
  state: "uncertain" | "mounted";
  readonly specName: string;
  /** From the disk, of an agent before this one: a refusal of the driver then says nothing of what is there. */
  isFound: boolean;
  /** When the driver last published it. */
  publishedAt: MonotonicMs | undefined;
}

/** What is being done with a volume, as back-off and texts name it. */
export type CsiOperation = "mount" | "expand" | "unmount" | "unmount_device";

/** A volume of a driver, with who has it. One for all pods of a persistent volume. */
export interface CsiVolume {
  readonly key: string;
  readonly driver: string;
  readonly handle: string;
  readonly specName: string;
  readonly isInline: boolean;
  readonly isBlock: boolean;
  /** Whether a controller attaches it; `undefined`: not known yet of what was found on the disk. */
  attachable: boolean | undefined;
  /** A report of the node's status was made that names it. */
  isReported: boolean;
  device: StagingState;
  /** What is staged was so before this agent. */
  isFound: boolean;
  readonly pods: Map<string, PodUse>;
  /** Pods that are to have it. */
  readonly wanted: Set<string>;
  /** `namespace/name` of pods that asked for it. */
  readonly podNames: Map<string, string>;
  /** Set by a failure: the same operation is not tried again before `until`. */
  backoff:
    | { readonly operation: CsiOperation; readonly failures: number; readonly until: MonotonicMs }
    | undefined;
  /** The step that is under way. */
  doing: string | undefined;
  /** The last step that was begun. */
  lastStep: string | undefined;
  /** When what is not done yet was first tried: giving it to a pod, taking it away, unstaging it. */
  since: MonotonicMs | undefined;
  problem: string | undefined;
  /** Who has to do something before the last step can succeed: not the driver. */
  waitsFor: "controller" | "other pod" | undefined;
  /** Size in bytes as far as the node has made it. */
  sizeBytes: bigint | undefined;
  /** The driver does not grow it while it is in use. */
  growsOffline: boolean;
  /** An attempt to grow it has failed for good before. */
  hasRefusedGrowth: boolean;
}

/** A volume of which nothing is done yet. */
export function newCsiVolume(
  names: Pick<CsiVolume, "key" | "driver" | "handle" | "specName" | "isInline" | "isBlock">,
): CsiVolume {
  return {
    ...names,
    attachable: names.isInline ? false : undefined,
    isReported: false,
    device: "none",
    isFound: false,
    pods: new Map(),
    wanted: new Set(),
    podNames: new Map(),
    backoff: undefined,
    doing: undefined,
    lastStep: undefined,
    since: undefined,
    problem: undefined,
    waitsFor: undefined,
    sizeBytes: undefined,
    growsOffline: false,
    hasRefusedGrowth: false,
  };
}

/** A step begins. */
export function enterStep(volume: CsiVolume, step: string): void {
  volume.doing = step;
  volume.lastStep = step;
  volume.waitsFor = undefined;
}

/** What was to be done is done. */
export function settle(volume: CsiVolume): void {
  volume.backoff = undefined;
  volume.problem = undefined;
  volume.waitsFor = undefined;
  volume.since = undefined;
}

/** Whether the pods that have the volume are those that are to have it, all of them whole. */
export const isInOrder = ({ pods, wanted }: Pick<CsiVolume, "pods" | "wanted">): boolean =>
  pods.size > 0 &&
  [...wanted].every((uid) => pods.get(uid)?.state === "mounted") &&
  [...pods.keys()].every((uid) => wanted.has(uid));

/** The state of the shared part after a failure to stage it (actual_state_of_world.go). */
export function deviceAfter(
  { device, isFound }: Pick<CsiVolume, "device" | "isFound">,
  failure: "uncertain" | "transient" | "final",
): StagingState {
  if (failure === "uncertain" && device === "none") return "uncertain";
  if (failure === "final" && device === "uncertain" && !isFound) return "none";
  return device;
}

/** The state of a pod's part after a failure to publish it; `undefined`: the pod has none. */
export function useAfter(
  use: Pick<PodUse, "state" | "isFound"> | undefined,
  failure: "uncertain" | "transient" | "final",
): PodUse["state"] | undefined {
  if (failure === "uncertain") return use?.state ?? "uncertain";
  if (failure === "final" && use?.state === "uncertain" && !use.isFound) return undefined;
  return use?.state;
}

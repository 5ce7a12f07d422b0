// pure
import type { Observation } from "../../api/observation.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { WallMs } from "../../kit/clock.ts";
import type { DiskUsage } from "../../outside/host/host.ts";

/** A pod as the runtime has it. */
export interface FoundRunning {
  readonly uid: string;
  readonly pod: IdentifiedPod;
  readonly observed: Observation;
}

/** A claim that a pod has mounted; of a block device only the size is known. */
export interface MeasuredClaim {
  readonly namespace: string;
  readonly name: string;
  /** Name of the volume in the pod's spec. */
  readonly volume: string;
  readonly usage: DiskUsage | Pick<DiskUsage, "capacityBytes">;
  readonly atMs: WallMs;
}

/** A pod with everything that measuring it needs. */
export interface MeasuredPod {
  readonly uid: string;
  readonly pod: IdentifiedPod;
  /** Path of its cgroup. */
  readonly group: string;
  readonly logsFolder: string;
  readonly volumesFolder: string;
  /** Files and folders that the agent keeps for it and its containers may write to: `/etc/hosts`, termination messages. */
  readonly managedFiles: readonly string[];
  /** Claims it has mounted, as last measured. */
  readonly claims: readonly MeasuredClaim[];
  readonly sandbox:
    | { readonly id: string; readonly createdAtMs: WallMs; readonly hostNetwork: boolean }
    | undefined;
  /** Those that run. */
  readonly containers: readonly {
    readonly id: string;
    readonly name: string;
    readonly image: string;
    readonly startedAtMs: WallMs | undefined;
  }[];
}

/** Cgroup and folders of a pod. */
type PodPlaces = Pick<MeasuredPod, "group" | "logsFolder" | "volumesFolder" | "managedFiles">;

const NO_CLAIMS: readonly MeasuredClaim[] = [];

/** Parts of a pod to measure, without its claims; `undefined` when none of it runs. */
export function measuredPod(found: FoundRunning, places: PodPlaces): MeasuredPod | undefined {
  const { uid, pod, observed } = found;
  const sandbox = observed.sandboxes.find(({ ready }) => ready);
  const containers = observed.containers.filter(({ state }) => state === "running");
  if (!sandbox && containers.length === 0) return undefined;
  return {
    uid,
    pod,
    ...places,
    claims: NO_CLAIMS,
    sandbox: sandbox && {
      id: sandbox.id,
      createdAtMs: sandbox.createdAtMs,
      hostNetwork: sandbox.hostNetwork,
    },
    containers: containers.map(({ id, name, image, startedAtMs }) => ({
      id,
      name,
      image,
      startedAtMs,
    })),
  };
}

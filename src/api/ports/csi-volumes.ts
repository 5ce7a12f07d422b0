// pure
import type {
  CSIVolumeSource,
  PersistentVolume,
  PersistentVolumeClaim,
} from "../generated/types.ts";
import type { IdentifiedPod } from "../pod-identity.ts";

/** A volume of a pod that a CSI driver has. */
export interface CsiVolumeRequest {
  readonly pod: IdentifiedPod;
  /** Its name in the pod's spec. */
  readonly volume: string;
  readonly source:
    | {
        readonly kind: "persistent";
        readonly pv: PersistentVolume;
        readonly claim: PersistentVolumeClaim;
        readonly readOnly: boolean;
      }
    | { readonly kind: "inline"; readonly csi: CSIVolumeSource };
}

/** Size and use of a volume as its driver says; what it does not say is absent. */
export interface CsiUsage {
  readonly capacityBytes?: number;
  readonly availableBytes?: number;
  readonly usedBytes?: number;
  readonly inodes?: number;
  readonly inodesFree?: number;
  readonly inodesUsed?: number;
}

/** A volume that a pod has. */
export interface CsiPublishedVolume {
  /** Where its files are; empty for a block device. */
  readonly hostPath: string;
  /** Node of a block device, and its number `major:minor`. */
  readonly device?: string;
  readonly deviceNumber?: string;
  /** Why it could not be brought up to date. */
  readonly fault?: string;
  /** The driver, and how to ask it for the volume's size and use; `undefined`: the driver does not say. */
  readonly driver: string;
  readonly measure: () => Promise<CsiUsage | undefined>;
}

/** Volumes of CSI drivers. Errors are `VolumeStepError`, `VolumeWaits` where others have to do something first. */
export interface CsiVolumes {
  /** Gives a pod a volume, or brings one up to date that it has. */
  publish(request: CsiVolumeRequest, signal: AbortSignal): Promise<CsiPublishedVolume>;
  /** Takes all volumes of a pod away. Throws when one could not be, and is to be called again then. */
  unpublish(podUid: string, signal: AbortSignal): Promise<void>;
  /** Whether the pod waits for a volume that cannot be attached since the node can have no more of its driver. */
  exceedsLimit(podUid: string, signal: AbortSignal): Promise<boolean>;
  /** Calls `onChange` when something may go on that waits, until the returned function is called. */
  subscribe(onChange: () => void): () => void;
}

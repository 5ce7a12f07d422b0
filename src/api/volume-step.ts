// pure
import { isOutside, messageOf, OutsideError } from "../kit/errors.ts";

/** The step of making a volume that failed, as the Go kubelet's events name it. */
export interface VolumeStep {
  /** `MountVolume.SetUp` */
  readonly step: string;
  /** The volume's own name: of a claim its persistent volume's. */
  readonly volume: string;
  readonly reason: "FailedMount" | "FailedMapVolume";
}

/** A volume that could not be made, with the step that failed. */
export class VolumeStepError extends OutsideError {
  readonly at: VolumeStep;

  constructor(at: VolumeStep, cause: unknown) {
    const code = isOutside(cause) ? cause.code : "precondition";
    super(code, messageOf(cause), { cause });
    this.at = at;
  }
}

/** Nothing has failed: the volume waits for something that others do. It is shown, and no event is given. */
export class VolumeWaits extends VolumeStepError {}

/** A persistent volume that cannot be had as it is asked for. */
export const wrong = (message: string): OutsideError => new OutsideError("precondition", message);

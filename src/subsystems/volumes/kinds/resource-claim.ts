import { VolumeStepError } from "../../../api/volume-step.ts";
import { OutsideError } from "../../../kit/errors.ts";
import type { VolumeKind } from "../kind.ts";

/** A claim of dynamic resource allocation: it cannot be served here, and its pod waits as for a volume. */
export const resourceClaimKind: VolumeKind = {
  plugin: "",
  setUp: ({ volume }) => {
    const reason = "FailedPrepareDynamicResources";
    const at = { step: "NodePrepareResources", volume: volume.name, reason } as const;
    const why = "dynamic resource allocation is not supported";
    return Promise.reject(new VolumeStepError(at, new OutsideError("unimplemented", why)));
  },
};

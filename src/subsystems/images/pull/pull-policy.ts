// pure

import { formatDuration } from "../../../api/text/duration.ts";
import { parseImageReference } from "../../../api/text/image-reference.ts";
import { plainMessageOf } from "../../../kit/errors.ts";

/** The reference with `:latest` added where it has neither tag nor digest; `undefined` when it is none. */
export function withDefaultTag(image: string): string | undefined {
  const reference = parseImageReference(image);
  if (!reference) return undefined;
  return reference.tag === undefined && reference.digest === undefined ? `${image}:latest` : image;
}

/** Whether to pull, use or refuse an image, given whether the runtime has it (image_manager.go). */
type PullVerdict = "use" | "pull" | "refuse";

/** `usable`: it is there and the pod may use it; irrelevant for Always, which pulls without a check. */
export function decidePull(policy: string, usable: boolean): PullVerdict {
  switch (policy) {
    case "Always":
      return "pull";
    case "Never":
      return usable ? "use" : "refuse";
    default:
      return usable ? "use" : "pull";
  }
}

/** Reason and message of a container that waits after a failed pull. */
interface PullFailure {
  readonly reason: "ErrImagePull" | "RegistryUnavailable" | "SignatureValidationFailed";
  readonly message: string;
}

/** Two kinds of registry errors have a reason of their own (evalCRIPullErr). */
export function pullFailure(image: string, error: string): PullFailure {
  const plain = plainMessageOf(error);
  for (const [reason, what] of [
    ["RegistryUnavailable", "the registry is unavailable"],
    ["SignatureValidationFailed", "the signature validation failed"],
  ] as const) {
    if (!plain.startsWith(reason)) continue;
    const message = `image pull failed for ${image} because ${what}${plain.slice(reason.length)}`;
    return { reason, message };
  }
  return { reason: "ErrImagePull", message: error };
}

/** A duration truncated to milliseconds, as Go prints it: 1.234s, 2m3.5s, 850ms, 0s. */
export const pullDuration = (ms: number): string => formatDuration(Math.floor(ms));

// pure
import { parseImageReference } from "../../api/image-reference.ts";

/** The reference with `:latest` added where it has neither tag nor digest; `undefined` when it is none. */
export function withDefaultTag(image: string): string | undefined {
  const reference = parseImageReference(image);
  if (!reference) return undefined;
  return reference.tag === undefined && reference.digest === undefined ? `${image}:latest` : image;
}

/** What to do about an image, given whether the runtime has it (image_manager.go). */
export type PullVerdict = "use" | "pull" | "refuse";

/** `present` is irrelevant for Always, which pulls without looking. */
export function decidePull(policy: string, present: boolean): PullVerdict {
  switch (policy) {
    case "Always":
      return "pull";
    case "Never":
      return present ? "use" : "refuse";
    default:
      return present ? "use" : "pull";
  }
}

const REGISTRY_UNAVAILABLE = "RegistryUnavailable";
const SIGNATURE_FAILED = "SignatureValidationFailed";

/** Waiting reason of a failed pull: two kinds of registry errors have their own. */
export function pullFailureReason(message: string): string {
  const description = message.replace(/^rpc error: code = \S+ desc = /, "");
  if (description.startsWith(REGISTRY_UNAVAILABLE)) return REGISTRY_UNAVAILABLE;
  if (description.startsWith(SIGNATURE_FAILED)) return SIGNATURE_FAILED;
  return "ErrImagePull";
}

/** Milliseconds as Go prints a duration rounded to milliseconds: 1.234s, 2m3.5s, 850ms. */
export function pullDuration(ms: number): string {
  const rounded = Math.round(ms);
  if (rounded < 1000) return `${rounded}ms`;
  const minutes = Math.floor(rounded / 60_000);
  const hours = Math.floor(minutes / 60);
  const seconds = `${(rounded % 60_000) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes % 60}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

// pure
/** Event messages of the Go kubelet about images, verbatim; users filter by them. */
import { imageReferenceFault } from "../../../api/text/image-reference.ts";
import type { PullStanding } from "./pull-lanes.ts";
import { pullDuration } from "./pull-policy.ts";

const quoted = (text: string) => JSON.stringify(text);

/** Messages of events and of waiting containers by occasion. */
export const TEXTS = {
  badName: (image: string) =>
    `Failed to apply default image tag ${quoted(image)}: couldn't parse image name ${quoted(image)}: ${imageReferenceFault(image)}`,
  inspectFailed: (image: string, why: string) => `Failed to inspect image ${quoted(image)}: ${why}`,
  present: (image: string) =>
    `Container image ${quoted(image)} already present on machine and can be accessed by the pod`,
  absentAndNever: (image: string) =>
    `Container image ${quoted(image)} is not present with pull policy of Never`,
  backOff: (image: string) => `Back-off pulling image ${quoted(image)}`,
  pulling: (image: string) => `Pulling image ${quoted(image)}`,
  pulled: (
    image: string,
    times: { readonly tookMs: number; readonly waitedMs: number },
    bytes: bigint,
  ) =>
    `Successfully pulled image ${quoted(image)} in ${pullDuration(times.tookMs)} (${pullDuration(times.waitedMs)} including waiting). Image size: ${bytes} bytes.`,
  pullFailed: (image: string, why: string) => `Failed to pull image ${quoted(image)}: ${why}`,
  secretsMissing: (names: readonly string[]) =>
    `Unable to retrieve some image pull secrets (${names.join(", ")}); attempting to pull the image may not succeed.`,
} as const;

/** Message of a waiting container while its image is pulled; the Go kubelet shows none. */
export function progressMessage(image: string, standing: PullStanding | undefined): string {
  if (!standing) return `Pulling image ${quoted(image)}`;
  const from = standing.registry === "" ? "" : ` from ${standing.registry}`;
  if (standing.kind === "running") {
    const seconds = Math.floor(standing.forMs / 1000);
    const since = seconds === 0 ? "" : ` for ${pullDuration(seconds * 1000)}`;
    return `Pulling image ${quoted(image)}${from}${since}`;
  }
  if (standing.ahead === 0)
    return `Waiting to pull image ${quoted(image)}: too many pulls run at once`;
  const pulls = standing.ahead === 1 ? "1 pull" : `${standing.ahead} pulls`;
  return `Waiting to pull image ${quoted(image)}: ${pulls}${from} ${standing.ahead === 1 ? "goes" : "go"} first`;
}

import type { StatusResponse, VersionResponse } from "../../outside/cri/cri.ts";

/** Features of a runtime. */
export interface RuntimeFeatures {
  /** Read-only mounts with all that is mounted beneath, by the handler in question. */
  readonly recursiveReadOnly: boolean;
  /** Images mounted as folders. */
  readonly imageVolumes: boolean;
  /** Parts of images mounted so; runtimes without it silently mount the whole image. */
  readonly imageSubPaths: boolean;
  /** Signals of the pod's choice to end containers; runtimes without it silently send their own. */
  readonly stopSignals: boolean;
}

/** First versions that mount images: CRI has no field for it. */
const IMAGE_VOLUMES_SINCE: Readonly<Record<string, readonly [number, number]>> = {
  containerd: [2, 1],
  "cri-o": [1, 31],
};
const IMAGE_SUB_PATHS_SINCE: Readonly<Record<string, readonly [number, number]>> = {
  containerd: [2, 2],
  "cri-o": [1, 33],
};
const STOP_SIGNALS_SINCE: Readonly<Record<string, readonly [number, number]>> = {
  containerd: [2, 3],
  "cri-o": [1, 34],
};

/** Features of one runtime handler (empty: the default), from its status and version. */
export function featuresOf(
  { runtimeHandlers }: Pick<StatusResponse, "runtimeHandlers">,
  { runtimeName, runtimeVersion }: Pick<VersionResponse, "runtimeName" | "runtimeVersion">,
  handler: string,
): RuntimeFeatures {
  const runtime = runtimeName.toLowerCase();
  const { features } = runtimeHandlers.find(({ name }) => name === handler) ?? {};
  return {
    recursiveReadOnly: features?.recursiveReadOnlyMounts === true,
    imageVolumes: isSince(runtimeVersion, IMAGE_VOLUMES_SINCE[runtime]),
    imageSubPaths: isSince(runtimeVersion, IMAGE_SUB_PATHS_SINCE[runtime]),
    stopSignals: isSince(runtimeVersion, STOP_SIGNALS_SINCE[runtime]),
  };
}

/** Other runtimes are trusted to refuse what they do not support. */
function isSince(version: string, since: readonly [number, number] | undefined): boolean {
  if (!since) return true;
  const [major = 0, minor = 0] = version
    .replace(/^v/, "")
    .split(/[.~+-]/)
    .map(Number);
  return major > since[0] || (major === since[0] && minor >= since[1]);
}

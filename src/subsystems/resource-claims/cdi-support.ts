// pure
import { isTree } from "../../kit/json.ts";
import type { VersionResponse } from "../../outside/cri/cri.ts";

/** First versions to which CRI hands CDI devices; those before it silently leave them out. */
const SINCE: Readonly<Record<string, readonly [number, number]>> = {
  containerd: [1, 7],
  "cri-o": [1, 27],
};

/**
 * Why the runtime would make a container without its CDI devices; `undefined` when it hands them over, or
 * refuses what it cannot do. `description` is what it says of itself beyond CRI.
 */
export function cdiProblem(
  { runtimeName, runtimeVersion }: Pick<VersionResponse, "runtimeName" | "runtimeVersion">,
  description: Readonly<Record<string, string>>,
): string | undefined {
  const runtime = runtimeName.toLowerCase();
  const since = SINCE[runtime];
  if (since && isBefore(runtimeVersion, since))
    return `${runtime} ${runtimeVersion} does not support CDI devices; ${runtime} ${since.join(".")} is the first that does`;
  return runtime === "containerd" && isTurnedOff(description["config"] ?? "")
    ? "CDI devices are turned off in containerd; set enable_cdi = true in its configuration"
    : undefined;
}

function isBefore(version: string, since: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version
    .replace(/^v/, "")
    .split(/[.~+-]/)
    .map(Number);
  return major < since[0] || (major === since[0] && minor < since[1]);
}

function isTurnedOff(config: string): boolean {
  try {
    const tree: unknown = JSON.parse(config);
    return isTree(tree) && tree["enableCDI"] === false;
  } catch {
    return false;
  }
}

import type { HealthRegistry } from "../kit/health/health.ts";
import { startHealth } from "../node/health/health.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import type { Foundation } from "./foundation.ts";

/** Whether the agent itself is well. */
export function assembleHealth(
  { options: { rootFolder, server }, outside, scope, metrics }: Foundation,
  { runtime }: Pick<Subsystems, "runtime">,
): HealthRegistry {
  const { lastListing } = runtime.watch;
  const ownsProcess = server?.versions.nodelet !== undefined;
  return startHealth({ outside, scope, metrics, rootFolder, lastListing, ownsProcess });
}

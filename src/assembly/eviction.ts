import { startEviction } from "../node/eviction.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Eviction } from "../subsystems/eviction/eviction.ts";
import type { Subsystems } from "../subsystems/subsystems.ts";
import type { Foundation } from "./foundation.ts";

/** The watch over memory, disks and process numbers; it ends pods when they run short. */
export function assembleEviction(
  { options, outside, scope, metrics, facts, news, pressure }: Foundation,
  { subsystems, pipeline }: { readonly subsystems: Subsystems; readonly pipeline: Pipeline },
): Eviction {
  const { config, nodeName, rootFolder } = options;
  const podsGroup = subsystems.cgroups.tierPath("Guaranteed");
  return startEviction(
    { config, nodeName, rootFolder, pidMax: facts.pidMax, podsGroup },
    { ...subsystems, outside, scope, metrics, news, pressure, pipeline },
  );
}

// pure
import type { PodStandings } from "../record/standing.ts";
import { start } from "./plan-containers.ts";
import type { PlanParts } from "./plan-draft.ts";

/**
 * Ephemeral containers start once, in a sandbox that is there, whatever the others do; they are never
 * started again (kuberuntime computePodActions).
 */
export function planEphemeralContainers({ ephemeral }: PodStandings, parts: PlanParts): void {
  if (parts.sandbox.kind !== "use") return;
  for (const standing of ephemeral)
    if (!standing.latest) start({ standing, parts }, undefined, "never started");
}

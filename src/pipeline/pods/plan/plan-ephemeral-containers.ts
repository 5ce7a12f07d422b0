// pure
import { latestAttempt } from "../record/observed.ts";
import type { PodRecord } from "../record/record.ts";
import { ephemeralContainers } from "../record/restart.ts";
import { start, type UsableSandbox } from "./plan-containers.ts";
import type { PlanContext, PlanDraft } from "./plan-draft.ts";

/**
 * Ephemeral containers start once, in a sandbox that is there, whatever the others do; they are never
 * started again (kuberuntime computePodActions).
 */
export function planEphemeralContainers(
  record: PodRecord,
  sandbox: UsableSandbox,
  context: PlanContext,
  draft: PlanDraft,
): void {
  if (sandbox.kind !== "use") return;
  for (const spec of ephemeralContainers(record.pod))
    if (!latestAttempt(record.observed, spec.container.name))
      start({ record, spec, parts: { sandbox, context, draft } }, undefined, "never started");
}

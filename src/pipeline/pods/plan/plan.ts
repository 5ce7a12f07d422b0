// pure

import { type PodRecord, STEP_PREPARE, STEP_SANDBOX, STEP_TEARDOWN } from "../record/record.ts";
import { standingsOf } from "../record/standing.ts";
import { NO_PLAN, type PodPlan } from "./actions.ts";
import { planCleanup } from "./plan-cleanup.ts";
import { planContainers } from "./plan-containers.ts";
import { planDeadline } from "./plan-deadline.ts";
import { type PlanContext, PlanDraft } from "./plan-draft.ts";
import { planEphemeralContainers } from "./plan-ephemeral-containers.ts";
import { planInitContainers } from "./plan-init-containers.ts";
import { planResize } from "./plan-resize.ts";
import { planRoundEnd } from "./plan-round.ts";
import { planSandbox } from "./plan-sandbox.ts";
import { planTeardown, planTermination } from "./plan-teardown.ts";

/** Plans the next actions for this pod. Deterministic in its arguments, without effects. */
export function planPod(record: PodRecord, context: PlanContext): PodPlan {
  if (!context.runtimeReady) return NO_PLAN;
  const { life } = record;
  switch (life.kind) {
    case "waiting":
    case "released":
      return NO_PLAN;
    case "running":
      return planRunning(record, context);
    case "terminating":
      return retryable(record, context, STEP_TEARDOWN, () =>
        planTermination(record, life, context),
      );
    case "terminated":
      return retryable(record, context, STEP_TEARDOWN, () => planTeardown(record, context));
    default:
      return life satisfies never;
  }
}

/** `plan()`, unless the step failed and must not be tried again yet. */
function retryable(
  record: PodRecord,
  context: PlanContext,
  step: string,
  plan: () => PodPlan,
): PodPlan {
  const stepFailure = record.retries.failures[step];
  if (stepFailure && stepFailure.notBefore > context.now)
    return { ...NO_PLAN, wakeAt: stepFailure.notBefore };
  return plan();
}

function planRunning(record: PodRecord, context: PlanContext): PodPlan {
  const draft = new PlanDraft();
  const overdue = planDeadline(record, context, draft);
  if (overdue) return overdue;
  for (const step of [STEP_PREPARE, STEP_SANDBOX, STEP_TEARDOWN]) {
    const stepFailure = record.retries.failures[step];
    if (stepFailure && stepFailure.notBefore > context.now) {
      draft.wake(stepFailure.notBefore);
      return draft.finish();
    }
  }
  const standings = standingsOf(record);
  const sandbox = planSandbox(record, standings, context, draft);
  planCleanup(record, { context, draft });
  if (sandbox.kind === "none") return draft.finish();
  if (sandbox.kind === "use" && planRoundEnd(record, draft)) return draft.finish();
  const parts = { record, sandbox, context, draft };
  planResize(standings, parts);
  planEphemeralContainers(standings, parts);
  if (planInitContainers(standings, parts) === "done") planContainers(standings, parts);
  return draft.finish();
}

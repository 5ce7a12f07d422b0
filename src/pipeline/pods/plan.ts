// pure

import type { Because } from "../../api/decisions.ts";
import type { BackoffPolicy } from "../../kit/backoff.ts";
import type { MonotonicMs, WallMs } from "../../kit/clock.ts";
import { NO_PLAN, type PodAction, type PodPlan } from "./actions.ts";
import type { KeptDead } from "./dead-containers.ts";
import { planContainers } from "./plan-containers.ts";
import { planDeadline } from "./plan-deadline.ts";
import { planEphemeralContainers } from "./plan-ephemeral-containers.ts";
import { planInitContainers } from "./plan-init-containers.ts";
import { planResize } from "./plan-resize.ts";
import { planRoundEnd } from "./plan-round.ts";
import { planSandbox } from "./plan-sandbox.ts";
import { planTeardown, planTermination } from "./plan-teardown.ts";
import type { PodEvent } from "./ports.ts";
import { type PodRecord, STEP_PREPARE, STEP_SANDBOX, STEP_TEARDOWN, type Wait } from "./record.ts";

/** What planning must know beside the record. */
export interface PlanContext {
  readonly now: MonotonicMs;
  readonly wallNow: WallMs;
  readonly restartBackoff: BackoffPolicy;
  /** Ended attempts of a container that are kept. */
  readonly keptDead: KeptDead;
  /** Whether the runtime answers and is ready; nothing is asked of it before. */
  readonly runtimeReady: boolean;
  /** Whether the runtime can give new pods a network; its message when not. */
  readonly network: { readonly ready: boolean; readonly message: string };
}

/** Collects a plan; the planners below write into it in order. */
export class PlanDraft {
  readonly actions: PodAction[] = [];
  readonly waits: Record<string, Wait> = {};
  readonly standing: Because[] = [];
  readonly says: PodEvent[] = [];
  /** Containers that are stopped by this plan to be started with other resources. */
  readonly restarting = new Set<string>();
  wakeAt: MonotonicMs | undefined;

  /** Look again at `at`, or earlier when something else asks for it. */
  wake(at: MonotonicMs): void {
    if (this.wakeAt === undefined || at < this.wakeAt) this.wakeAt = at;
  }

  finish(): PodPlan {
    return {
      actions: this.actions,
      waits: this.waits,
      standing: this.standing,
      says: this.says,
      wakeAt: this.wakeAt,
    };
  }
}

/** What to do next for this pod. Deterministic in its arguments; does nothing itself. */
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
      return retryable(record, context, STEP_TEARDOWN, () => planTeardown(record));
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
  const trouble = record.troubles[step];
  if (trouble && trouble.notBefore > context.now) return { ...NO_PLAN, wakeAt: trouble.notBefore };
  return plan();
}

function planRunning(record: PodRecord, context: PlanContext): PodPlan {
  const draft = new PlanDraft();
  const overdue = planDeadline(record, context, draft);
  if (overdue) return overdue;
  for (const step of [STEP_PREPARE, STEP_SANDBOX, STEP_TEARDOWN]) {
    const trouble = record.troubles[step];
    if (trouble && trouble.notBefore > context.now) {
      draft.wake(trouble.notBefore);
      return draft.finish();
    }
  }
  const sandbox = planSandbox(record, context, draft);
  if (sandbox.kind === "none") return draft.finish();
  if (sandbox.kind === "use" && planRoundEnd(record, draft)) return draft.finish();
  planResize(record, sandbox, context, draft);
  planEphemeralContainers(record, sandbox, context, draft);
  const init = planInitContainers(record, sandbox, context, draft);
  if (init === "done") planContainers(record, sandbox, context, draft);
  return draft.finish();
}

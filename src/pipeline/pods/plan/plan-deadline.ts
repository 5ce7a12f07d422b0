// pure

import { makeDecision } from "../../../api/decisions.ts";
import { graceSecondsOf } from "../../../api/pod/pod.ts";
import { after } from "../../../kit/instant.ts";
import type { PodRecord } from "../record/record.ts";
import { NO_PLAN, type PodPlan } from "./actions.ts";
import type { PlanContext, PlanDraft } from "./plan-draft.ts";

const REASON = "DeadlineExceeded";
const MESSAGE = "Pod was active on the node longer than the specified deadline";

/**
 * Ends a pod that has been active for `activeDeadlineSeconds` (kubelet active_deadline.go); before that,
 * asks to be planned again when it will be. The time counts from the pod's start time, over restarts of the agent.
 */
export function planDeadline(
  { pod, startedAt }: PodRecord,
  { now, wallNow }: PlanContext,
  draft: PlanDraft,
): PodPlan | undefined {
  const deadlineSeconds = pod.spec?.activeDeadlineSeconds;
  if (deadlineSeconds === undefined) return undefined;
  const leftMs = startedAt + deadlineSeconds * 1000 - wallNow;
  if (leftMs > 0) {
    draft.wake(after(now, leftMs));
    return undefined;
  }
  return {
    ...NO_PLAN,
    events: [{ type: "Normal", reason: REASON, message: MESSAGE }],
    ends: {
      cause: { kind: "evicted", reason: REASON, message: MESSAGE },
      decision: makeDecision("killPod", "active deadline exceeded", {
        graceSeconds: graceSecondsOf(pod),
        reason: `it may be active for ${deadlineSeconds} s`,
      }),
    },
  };
}

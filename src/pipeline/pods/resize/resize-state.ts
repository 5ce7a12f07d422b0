// pure

import type { PodCondition, PodStatus } from "../../../api/generated/types.ts";
import { type ActuatedPod, allocationOf, isSameAllocation } from "../../../api/pod/allocation.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { parseTimestamp } from "../../../api/text/timestamps.ts";
import type { WallMs } from "../../../kit/clock.ts";
import type { PendingResize, PodResize, RequestedResize } from "../record.ts";

/** What the source asks for beside what the pod was given; `undefined` where that is the same. */
export function requestedResize(
  pod: IdentifiedPod,
  desired: IdentifiedPod,
): RequestedResize | undefined {
  const allocation = allocationOf(desired);
  if (isSameAllocation(allocation, allocationOf(pod))) return undefined;
  return { allocation, generation: desired.metadata?.generation ?? 0 };
}

/**
 * Where a change in place stood when the status was published: what was said need not be said again, and
 * whose end was not reported yet is reported.
 */
export function keptResize(
  { pod, desired }: { readonly pod: IdentifiedPod; readonly desired: IdentifiedPod },
  actuated: ActuatedPod,
  published: PodStatus | undefined,
): PodResize {
  const find = (type: string) =>
    published?.conditions?.find((each) => each.type === type && each.status === "True");
  const requested = requestedResize(pod, desired);
  const pending = requested && keptPending(find("PodResizePending"));
  const progress = find("PodResizeInProgress");
  const generation = progress?.observedGeneration ?? pod.metadata?.generation ?? 0;
  const isBehind = progress !== undefined || !isSameAllocation(actuated, allocationOf(pod));
  return {
    actuated,
    ...(requested ? { requested } : {}),
    ...(pending ? { pending } : {}),
    ...(isBehind ? { inProgress: { generation } } : {}),
  };
}

function keptPending(condition: PodCondition | undefined): PendingResize | undefined {
  if (!condition) return undefined;
  const { reason, message = "", observedGeneration = 0, lastTransitionTime = "" } = condition;
  if (reason !== "Deferred" && reason !== "Infeasible") return undefined;
  const sinceMs = parseTimestamp(lastTransitionTime) ?? (0 as WallMs);
  return { reason, message, generation: observedGeneration, sinceMs };
}

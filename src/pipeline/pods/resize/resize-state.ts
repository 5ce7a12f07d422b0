// pure

import type { Pod, PodCondition, PodStatus } from "../../../api/generated/types.ts";
import { type ActuatedPod, allocationOf, isSameAllocation } from "../../../api/pod/allocation.ts";
import { parseTimestamp } from "../../../api/text/timestamps.ts";
import type { WallMs } from "../../../kit/clock.ts";
import type { PendingResize, PodResize } from "../record.ts";

/**
 * Where a change in place stood when the status was published: what was said need not be said again, and
 * whose end was not reported yet is reported.
 */
export function keptResize(
  { pod, desired }: { readonly pod: Pod; readonly desired: Pod },
  actuated: ActuatedPod,
  published: PodStatus | undefined,
): PodResize {
  const find = (type: string) =>
    published?.conditions?.find((each) => each.type === type && each.status === "True");
  const pending = pod === desired ? undefined : keptPending(find("PodResizePending"));
  const progress = find("PodResizeInProgress");
  const generation = progress?.observedGeneration ?? pod.metadata?.generation ?? 0;
  const isBehind = progress !== undefined || !isSameAllocation(actuated, allocationOf(pod));
  return {
    actuated,
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

// pure

import type { PodCondition, PodStatus } from "../../../api/generated/types.ts";
import {
  type ActuatedPod,
  allocationOf,
  isSameAllocation,
  isSameInEffect,
} from "../../../api/pod/allocation.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { parseTimestamp } from "../../../api/text/timestamps.ts";
import type { WallMs } from "../../../kit/clock.ts";
import type { PendingResize, PodResize, RequestedResize } from "./record.ts";

/** Resources that the source requests and the pod was not allocated; `undefined` when the two are the same. */
export function requestedResize(
  pod: IdentifiedPod,
  desired: IdentifiedPod,
): RequestedResize | undefined {
  const allocation = allocationOf(desired);
  if (isSameAllocation(allocation, allocationOf(pod))) return undefined;
  return { allocation, generation: desired.metadata?.generation ?? 0 };
}

/**
 * State of a resize in place when the status was published: events that were recorded are not repeated, and
 * an end that was not reported yet is reported.
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
  const error = progress?.reason === "Error" ? { error: progress.message ?? "" } : {};
  const isBehind = progress !== undefined || !isSameInEffect(actuated, allocationOf(pod));
  return {
    actuated,
    ...(requested ? { requested } : {}),
    ...(pending ? { pending } : {}),
    ...(isBehind ? { inProgress: { generation, ...error } } : {}),
  };
}

function keptPending(condition: PodCondition | undefined): PendingResize | undefined {
  if (!condition) return undefined;
  const { reason, message = "", observedGeneration = 0, lastTransitionTime = "" } = condition;
  if (reason !== "Deferred" && reason !== "Infeasible") return undefined;
  const sinceMs = parseTimestamp(lastTransitionTime) ?? (0 as WallMs);
  return { reason, message, generation: observedGeneration, sinceMs };
}

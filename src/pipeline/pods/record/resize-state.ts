// pure

import type {
  Container,
  PodCondition,
  PodStatus,
  ResourceRequirements,
} from "../../../api/generated/types.ts";
import type { ObservedContainer } from "../../../api/observation.ts";
import {
  type ActuatedPod,
  allocationOf,
  isSameAllocation,
  isSameAmount,
  isSameInEffect,
  isUnsure,
  type PodAllocation,
  withAllocation,
  withPodLimits,
} from "../../../api/pod/allocation.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { parseTimestamp } from "../../../api/text/timestamps.ts";
import type { WallMs } from "../../../kit/clock.ts";
import {
  type PendingResize,
  type PodRecord,
  type PodResize,
  type RequestedResize,
  STEP_RESIZE,
} from "./record.ts";
import type { PodSignal } from "./signals.ts";
import type { PodStandings } from "./standing.ts";

/** The pod of the source with the resources that were given to the pod. */
export function withDesired(record: PodRecord, source: IdentifiedPod): PodRecord {
  const { pod, requested } = withGiven(source, allocationOf(record.pod));
  const { pending: _, requested: __, ...done } = record.resize;
  const resize = requested ? { ...record.resize, requested } : done;
  return { ...record, pod, desired: { ...record.desired, pod: source }, resize };
}

/** The pod with the resources that it was given now, which do not wait for the pause after an earlier failure. */
export function withResized(
  record: PodRecord,
  { allocation, actuated, generation }: Extract<PodSignal, { kind: "resized" }>,
): PodRecord {
  const { pod, requested } = withGiven(record.desired.pod, allocation);
  const resize = { actuated, inProgress: { generation }, ...(requested ? { requested } : {}) };
  const { [STEP_RESIZE]: _, ...failures } = record.retries.failures;
  return { ...record, pod, retries: { ...record.retries, failures }, resize };
}

/** The pod of the source with other resources than its own, and what it requests beyond them, if anything. */
function withGiven(
  desired: IdentifiedPod,
  given: PodAllocation,
): { readonly pod: IdentifiedPod; readonly requested?: RequestedResize } {
  const pod = withAllocation(desired, given);
  const allocation = allocationOf(desired);
  if (isSameAllocation(allocation, allocationOf(pod))) return { pod };
  return { pod, requested: { allocation, generation: desired.metadata?.generation ?? 0 } };
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
  const { requested } = withGiven(desired, allocationOf(pod));
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

/** A running container with the resources that it was given and those that it has. */
export interface ResizableContainer {
  readonly container: Container;
  readonly attempt: ObservedContainer;
  readonly given: ResourceRequirements;
  readonly has: ResourceRequirements;
}

/** The record of a running pod; a resize that has been carried out everywhere is over. */
export function withResizeSettled(record: PodRecord, standings: PodStandings): PodRecord {
  const { inProgress, ...resize } = record.resize;
  return inProgress && !isResizing(record, standings) ? { ...record, resize } : record;
}

/** Whether something of a running pod has not yet what the pod was given. */
export function isResizing(record: PodRecord, standings: PodStandings): boolean {
  return resizableIn(record, standings).some(isBehind) || !isGroupUpToDate(record);
}

/** The containers that run in the newest sandbox; a change of the pod's limits is one of each container that has none. */
export function resizableIn(
  { pod, resize: { actuated } }: PodRecord,
  { init, regular }: PodStandings,
): readonly ResizableContainer[] {
  return [...init, ...regular].flatMap(({ container, here }) => {
    if (here?.state !== "running") return [];
    const given = withPodLimits(container.resources, pod.spec?.resources);
    const has = withPodLimits(actuated.containers[container.name], actuated.pod);
    return [{ container, attempt: here, given, has }];
  });
}

/** Whether the pod's cgroup has what the pod was given. */
export function isGroupUpToDate({ pod, resize: { actuated } }: PodRecord): boolean {
  return !isUnsure(actuated.group) && isSameInEffect(actuated.group, allocationOf(pod));
}

const RESIZED = ["cpu", "memory"] as const;

/** Whether the container has not yet what it was given. */
export function isBehind(running: ResizableContainer): boolean {
  return RESIZED.some((resource) => differs(running, resource));
}

/** Whether request or limit of one resource are others. */
export function differs({ given, has }: ResizableContainer, resource: string): boolean {
  return (
    !isSameAmount(given.requests?.[resource], has.requests?.[resource]) ||
    !isSameAmount(given.limits?.[resource], has.limits?.[resource])
  );
}

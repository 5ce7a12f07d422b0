// pure

import { isSame, STATUS_RULES, strategicDiff } from "../../api/decode/strategic-diff.ts";
import type { PodCondition, PodStatus } from "../../api/generated/types.ts";
import { isTerminalPhase } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { derivedOnce } from "../../kit/derived-once.ts";
import { isOwnCondition, newerConditions } from "../status/pod-conditions.ts";

/** Fields of a pod's status that the kubelet writes; all others belong to other writers. */
const OWN_FIELDS = [
  "observedGeneration",
  "phase",
  "conditions",
  "message",
  "reason",
  "hostIP",
  "hostIPs",
  "podIP",
  "podIPs",
  "startTime",
  "initContainerStatuses",
  "containerStatuses",
  "ephemeralContainerStatuses",
  "qosClass",
  "resize",
  "resources",
  "allocatedResources",
] as const satisfies readonly (keyof PodStatus)[];

/** A condition that others set too, as set by the kubelet. */
const isOurDisruption = ({ type, reason }: PodCondition): boolean =>
  type === "DisruptionTarget" && reason === "TerminationByKubelet";

const NO_STATUS: PodStatus = {};

/** The part of a status that is ours, to detect changes by others; the same object for the same status. */
export const ownPart = (status: PodStatus | undefined): PodStatus => ownPartOf(status ?? NO_STATUS);

/** Statuses are replaced and never changed, and each is compared many times until the API has it. */
const ownPartOf = derivedOnce((status: PodStatus): PodStatus => {
  const own: Record<string, unknown> = {};
  for (const field of OWN_FIELDS) {
    const value = status[field];
    if (value !== undefined) own[field] = value;
  }
  const { conditions } = status;
  if (conditions !== undefined)
    own["conditions"] = conditions.filter(({ type }) => isOwnCondition(type));
  return own;
});

/**
 * The status for the API: the agent's fields over those of others. A terminal phase in the API is never
 * left (status_manager.go mergePodStatus).
 */
export function mergeStatus(known: PodStatus | undefined, own: PodStatus): PodStatus {
  const mine = ownPart(own);
  const others = Object.fromEntries(
    Object.entries(known ?? {}).filter(
      ([field]) => !(OWN_FIELDS as readonly string[]).includes(field),
    ),
  );
  const shared = (own.conditions ?? []).filter(isOurDisruption);
  const foreign = (known?.conditions ?? []).filter(
    ({ type }) => !isOwnCondition(type) && !shared.some((each) => each.type === type),
  );
  const merged: PodStatus = {
    ...others,
    ...mine,
    conditions: [...laterTimes(mine.conditions ?? [], known?.conditions), ...shared, ...foreign],
  };
  if (!isTerminalPhase(known?.phase) || isTerminalPhase(own.phase)) return merged;
  const { reason: _, message: __, ...rest } = merged;
  return {
    ...rest,
    ...(known?.phase === undefined ? {} : { phase: known.phase }),
    ...(known?.reason === undefined ? {} : { reason: known.reason }),
    ...(known?.message === undefined ? {} : { message: known.message }),
  };
}

/** A condition that became what it is later, by the API's account, keeps that time: another agent had the node then. */
const laterTimes = (
  own: readonly PodCondition[],
  known: readonly PodCondition[] = [],
): readonly PodCondition[] =>
  newerConditions(own, known).map((newer, i) => {
    const mine = own[i] ?? newer;
    const { lastTransitionTime } = newer;
    if (newer === mine || newer.status !== mine.status || lastTransitionTime === undefined)
      return mine;
    return { ...mine, lastTransitionTime };
  });

/** The strategic merge patch that brings our status to the API; undefined when it is there. */
export function statusPatch(known: IdentifiedPod, own: PodStatus): object | undefined {
  const merged = mergeStatus(known.status, own);
  if (isSame(known.status, merged)) return undefined;
  const status = strategicDiff({ ...known.status }, { ...merged }, STATUS_RULES);
  if (status === undefined) return undefined;
  // With the UID no status is written to a successor of the same name.
  return { metadata: { uid: known.metadata.uid }, status };
}

/** Kinds of status changes in the order in which they are written: the smallest first. */
export const URGENCY = { ended: 0, readiness: 1, other: 2 } as const;

/** Most urgent difference between the status in the API (`known`) and the pod's own: one of `URGENCY`. */
export function urgencyOf(
  known: PodStatus | undefined,
  own: PodStatus,
): (typeof URGENCY)[keyof typeof URGENCY] {
  if (isTerminalPhase(own.phase) && known?.phase !== own.phase) return URGENCY.ended;
  return readinessOf(known) === readinessOf(own) ? URGENCY.other : URGENCY.readiness;
}

/** Of the pod and of its containers, for which controllers of readiness gates wait. */
function readinessOf(status: PodStatus | undefined): string {
  let [pod, containers] = ["False", "False"];
  for (const condition of status?.conditions ?? [])
    if (condition.type === "Ready") pod = condition.status;
    else if (condition.type === "ContainersReady") containers = condition.status;
  return `${pod} ${containers}`;
}

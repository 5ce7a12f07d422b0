// pure
/** Allocated and actual resources and resize conditions of a status (KEP-1287, KEP-5419). */

import type { ContainerStatus, ResourceRequirements } from "../../api/generated/types.ts";
import { isSameAmount, isSameResources, withPodLimits } from "../../api/pod/allocation.ts";
import { type PodRecord, STEP_RESIZE } from "../pods/record/record.ts";
import type { ContainerStanding } from "../pods/record/standing.ts";
import type { ConditionVerdict } from "./pod-conditions.ts";

/** Conditions of a change in place; they are there only while it is going on, and not of pods that have ended. */
export function resizeConditions({
  resize,
  retries,
  life,
}: PodRecord): readonly ConditionVerdict[] {
  if (life.kind === "terminated" || life.kind === "released") return [];
  const { pending, inProgress } = resize;
  const conditions: ConditionVerdict[] = [];
  if (pending) {
    const { reason, message, generation } = pending;
    const detail = { reason, message, observedGeneration: generation };
    conditions.push({ type: "PodResizePending", status: "True", ...detail });
  }
  if (inProgress) {
    const error = retries.failures[STEP_RESIZE]?.message ?? inProgress.error;
    conditions.push({
      type: "PodResizeInProgress",
      status: "True",
      ...(error === undefined ? {} : { reason: "Error", message: error }),
      observedGeneration: inProgress.generation,
    });
  }
  return conditions;
}

const RESIZED = ["cpu", "memory"] as const;

/** Allocated and, while it runs, actual resources of a container; nothing before it was created. */
export function containerResources(
  { pod, resize: { actuated } }: PodRecord,
  { container: { name, resources: given = {} }, attempts: [newest] }: ContainerStanding,
): Pick<ContainerStatus, "allocatedResources" | "resources"> {
  if (!newest) return {};
  const has = newest.state === "running" ? actuated.containers[name] : undefined;
  const isSame =
    has === undefined ||
    isSameResources(withPodLimits(has, actuated.pod), withPodLimits(given, pod.spec?.resources));
  return {
    ...(given.requests ? { allocatedResources: given.requests } : {}),
    resources: isSame ? shown(given) : mixed(given, ownOf(has, given, actuated.pod)),
  };
}

/** Without limits that are only those of the pod. */
function ownOf(
  has: ResourceRequirements,
  given: ResourceRequirements,
  pod: ResourceRequirements | undefined,
): ResourceRequirements {
  const limits = Object.entries(has.limits ?? {}).filter(
    ([name, limit]) =>
      given.limits?.[name] !== undefined || !isSameAmount(limit, pod?.limits?.[name]),
  );
  const { limits: _, ...rest } = has;
  return limits.length === 0 ? rest : { ...rest, limits: Object.fromEntries(limits) };
}

const shown = ({ limits, requests }: ResourceRequirements): ResourceRequirements => ({
  ...(limits ? { limits } : {}),
  ...(requests ? { requests } : {}),
});

/** CPU and memory as they are had, all else as it was given. */
function mixed(given: ResourceRequirements, has: ResourceRequirements): ResourceRequirements {
  const part = (name: "limits" | "requests") => {
    const list: Record<string, string> = { ...given[name] };
    for (const resource of RESIZED) {
      const amount = has[name]?.[resource];
      if (amount === undefined) delete list[resource];
      else list[resource] = amount;
    }
    return Object.keys(list).length === 0 ? {} : { [name]: list };
  };
  return { ...part("limits"), ...part("requests") };
}

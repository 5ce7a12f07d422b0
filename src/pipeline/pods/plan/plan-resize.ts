// pure

import { makeDecision } from "../../../api/decisions.ts";
import type { Container, ResourceRequirements } from "../../../api/generated/types.ts";
import type { ObservedContainer } from "../../../api/observation.ts";
import {
  allocationOf,
  isSameAmount,
  isSameInEffect,
  isUnsure,
  resizableContainers,
  withPodLimits,
} from "../../../api/pod/allocation.ts";
import { graceSecondsOf } from "../../../api/pod/pod.ts";
import { attemptIn, newestSandbox } from "../record/observed.ts";
import { type PodRecord, STEP_RESIZE } from "../record/record.ts";
import type { StopRequest } from "./actions.ts";
import type { PlanContext, PlanDraft } from "./plan-draft.ts";
import type { SandboxPlan } from "./plan-sandbox.ts";

/** Rule of a restart for the sake of other resources. */
export const RESIZE_RESTART = "resize requires restart";

/** A container that runs, with the attempt that does. */
interface RunningContainer {
  readonly container: Container;
  readonly attempt: ObservedContainer;
}

/**
 * Brings what runs to what the pod was given: containers whose policy wants it are stopped, to be started
 * by the planners that follow; then the group, and all other containers as they run
 * (kuberuntime computePodResizeAction).
 */
export function planResize(
  record: PodRecord,
  sandbox: SandboxPlan,
  { now }: PlanContext,
  draft: PlanDraft,
): void {
  const running = sandbox.kind === "use" ? runningContainers(record, sandbox.sandbox.id) : [];
  const changed = running.filter((each) => isBehind(record, each));
  if (changed.length === 0 && isGroupUpToDate(record)) return;
  const stepFailure = record.retries.failures[STEP_RESIZE];
  if (stepFailure && stepFailure.notBefore > now) {
    draft.wake(stepFailure.notBefore);
    return;
  }
  const restarts = changed.filter((each) => needsRestart(record, each));
  if (restarts.length > 0) stopThem(record, restarts, draft);
  const containers = running
    .filter((each) => !restarts.includes(each))
    .map(({ attempt: { name, id } }) => ({ name, id }));
  const decision = makeDecision("resizePod", "resources given are others", {
    containers: changed.filter((each) => !restarts.includes(each)).map(nameOf),
  });
  draft.actions.push({ kind: "resizePod", containers, decision });
}

/** Whether something of a running pod has not yet what the pod was given. */
export function isResizing(record: PodRecord): boolean {
  const sandbox = newestSandbox(record.observed);
  const running = sandbox ? runningContainers(record, sandbox.id) : [];
  return !isGroupUpToDate(record) || running.some((each) => isBehind(record, each));
}

const nameOf = ({ container }: RunningContainer): string => container.name;

function isGroupUpToDate({ pod, resize: { actuated } }: PodRecord): boolean {
  return !isUnsure(actuated.group) && isSameInEffect(actuated.group, allocationOf(pod));
}

function runningContainers(record: PodRecord, sandboxId: string): readonly RunningContainer[] {
  return resizableContainers(record.pod).flatMap((container) => {
    const attempt = attemptIn(record.observed, sandboxId, container.name);
    return attempt?.state === "running" ? [{ container, attempt }] : [];
  });
}

const RESIZED = ["cpu", "memory"] as const;

function isBehind(record: PodRecord, running: RunningContainer): boolean {
  const { wanted, has } = resourcesOf(record, running);
  return RESIZED.some((resource) => differs(wanted, has, resource));
}

/** With the limits of the pod where the container has none: a change of those is one of the container. */
function resourcesOf({ pod, resize: { actuated } }: PodRecord, { container }: RunningContainer) {
  return {
    wanted: withPodLimits(container.resources, pod.spec?.resources),
    has: withPodLimits(actuated.containers[container.name], actuated.pod),
  };
}

/** A policy counts for a resource of which request or limit changes; without one nothing restarts. */
function needsRestart(record: PodRecord, running: RunningContainer): boolean {
  const { wanted, has } = resourcesOf(record, running);
  return (running.container.resizePolicy ?? []).some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === "RestartContainer" && differs(wanted, has, resourceName),
  );
}

function differs(
  wanted: ResourceRequirements,
  has: ResourceRequirements,
  resource: string,
): boolean {
  return (
    !isSameAmount(wanted.requests?.[resource], has.requests?.[resource]) ||
    !isSameAmount(wanted.limits?.[resource], has.limits?.[resource])
  );
}

function stopThem(
  { pod }: PodRecord,
  restarts: readonly RunningContainer[],
  draft: PlanDraft,
): void {
  const graceSeconds = graceSecondsOf(pod);
  const stops = restarts.map(({ attempt: { id, name } }): StopRequest => {
    const message = `Container ${name} resize requires restart`;
    return { id, name, graceSeconds, message, preStop: true, again: true };
  });
  draft.actions.push({
    kind: "stopContainers",
    stops,
    decision: stops.map(({ name, message }) =>
      makeDecision("killContainer", RESIZE_RESTART, {
        container: name,
        graceSeconds,
        detail: message,
      }),
    ),
  });
  for (const { name } of stops) draft.restarting.add(name);
}

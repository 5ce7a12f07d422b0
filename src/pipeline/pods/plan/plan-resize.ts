// pure

import { makeDecision } from "../../../api/decisions.ts";
import { graceSecondsOf } from "../../../api/pod/pod.ts";
import { type PodRecord, STEP_RESIZE } from "../record/record.ts";
import {
  differs,
  isBehind,
  isGroupUpToDate,
  type ResizableContainer,
  resizableIn,
} from "../record/resize-state.ts";
import type { PodStandings } from "../record/standing.ts";
import type { StopRequest } from "./actions.ts";
import type { PlanDraft, PlanParts } from "./plan-draft.ts";

/** Rule of a restart for the sake of other resources. */
export const RESIZE_RESTART = "resize requires restart";

/**
 * Brings what runs to what the pod was given: containers whose policy requires it are stopped, to be started
 * by the planners that follow; then the group, and all other containers as they run
 * (kuberuntime computePodResizeAction).
 */
export function planResize(
  standings: PodStandings,
  { record, sandbox, context: { now }, draft }: PlanParts,
): void {
  const running = sandbox.kind === "use" ? resizableIn(record, standings) : [];
  const changed = running.filter(isBehind);
  if (changed.length === 0 && isGroupUpToDate(record)) return;
  const stepFailure = record.retries.failures[STEP_RESIZE];
  if (stepFailure && stepFailure.notBefore > now) {
    draft.wake(stepFailure.notBefore);
    return;
  }
  const restarts = changed.filter(needsRestart);
  if (restarts.length > 0) stopThem(record, restarts, draft);
  const containers = running
    .filter((each) => !restarts.includes(each))
    .map(({ attempt: { name, id } }) => ({ name, id }));
  const decision = makeDecision("resizePod", "resources given are others", {
    containers: changed.filter((each) => !restarts.includes(each)).map(nameOf),
  });
  draft.actions.push({ kind: "resizePod", containers, decision });
}

const nameOf = ({ container }: ResizableContainer): string => container.name;

/** A policy counts for a resource of which request or limit changes; without one nothing restarts. */
function needsRestart(running: ResizableContainer): boolean {
  return (running.container.resizePolicy ?? []).some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === "RestartContainer" && differs(running, resourceName),
  );
}

function stopThem(
  { pod }: PodRecord,
  restarts: readonly ResizableContainer[],
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

import type { PodAction } from "../plan/actions.ts";
import { STEP_RESIZE } from "../record/record.ts";
import type { StepResult } from "../record/signals.ts";
import { resizeFailed } from "../resize/resize-text.ts";
import { failure, type Run } from "./run.ts";

type ResizeAction = Extract<PodAction, { kind: "resizePod" }>;

/**
 * Brings group and running containers to what the pod was given. A failure keeps nothing else from being
 * done, and is reported once for as long as it stays the same (kuberuntime doPodResizeAction).
 */
export async function resizePod({ containers }: ResizeAction, run: Run): Promise<StepResult> {
  const { pod, resize, retries } = run.record;
  const { resizes, events } = run.deps.ports;
  const { sandboxId } = run;
  const request = { pod, actuated: resize.actuated, sandboxId, containers };
  const outcome = await resizes.apply(request, run.signal);
  if (outcome.kind === "done") return { step: STEP_RESIZE, outcome: { kind: "done" } };
  run.signal.throwIfAborted();
  const { message } = outcome;
  const generation = resize.inProgress?.generation ?? pod.metadata?.generation ?? 0;
  const reported = retries.failures[STEP_RESIZE]?.message ?? resize.inProgress?.error;
  if (reported !== message) events.ofPod(pod, resizeFailed(pod, generation, message));
  return failure(run, { step: STEP_RESIZE, reason: "Error", message });
}

// pure
import type { Blocked } from "../../api/pod/shown-pod.ts";
import { CLAIMS_PROGRESS, VOLUMES_PROGRESS } from "../../api/pod-news.ts";
import { livingContainers } from "../pods/record/observed.ts";
import {
  type PodRecord,
  STEP_PREPARE,
  STEP_SANDBOX,
  STEP_TEARDOWN,
  type StepFailure,
} from "../pods/record/record.ts";

/** State of the runtime that planning depends on. */
interface RuntimeState {
  readonly ready: boolean;
  readonly message: string;
}

/** Why the pod is blocked; `undefined` when it is not, or when its status shows the reason. */
export function blockedBy(record: PodRecord, runtime: RuntimeState): Blocked | undefined {
  const { life, admission, sync, lastPlan } = record;
  if (life.kind === "released") return undefined;
  if (life.kind === "waiting")
    return admission.kind === "deferred"
      ? { reason: admission.reason, message: admission.message }
      : undefined;
  const volumes = sync.freshness === "acting" ? lastPlan.progress[VOLUMES_PROGRESS] : undefined;
  if (volumes !== undefined) return { reason: "FailedMount", message: volumes };
  const claims = sync.freshness === "acting" ? lastPlan.progress[CLAIMS_PROGRESS] : undefined;
  if (claims !== undefined)
    return {
      reason: life.kind === "terminating" ? "FailedKillPod" : "FailedPrepareDynamicResources",
      message: claims,
    };
  const failed = stepFailure(record);
  if (failed) return { reason: failed.reason, message: failed.message };
  if (!runtime.ready && life.kind !== "terminated")
    return {
      reason: "RuntimeNotReady",
      message: `the container runtime is not ready: ${runtime.message.replace(/^OutsideError: /, "")}`,
    };
  return life.kind === "terminating" ? stopping(record, life.graceSeconds) : waitingFor(record);
}

function stepFailure({ retries: { failures } }: PodRecord): StepFailure | undefined {
  return failures[STEP_PREPARE] ?? failures[STEP_SANDBOX] ?? failures[STEP_TEARDOWN];
}

function stopping({ observed }: PodRecord, graceSeconds: number): Blocked | undefined {
  const names = livingContainers(observed).map(({ name }) => name);
  if (names.length === 0) return undefined;
  const message = `waiting for ${names.join(", ")} to stop; the grace period is ${graceSeconds} s`;
  return { reason: "Stopping", message };
}

function waitingFor({ lastPlan }: PodRecord): Blocked | undefined {
  for (const { kind, inputs } of lastPlan.standing)
    if (kind === "delaySandbox") return { reason: "NetworkNotReady", message: inputs.message };
  return undefined;
}

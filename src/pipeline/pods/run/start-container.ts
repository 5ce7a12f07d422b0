import type { ImageOutcome } from "../../../api/image-outcome.ts";
import { findContainer, graceSecondsOf } from "../../../api/pod/pod.ts";
import { isOutside, messageOf, plainMessageOf } from "../../../kit/errors.ts";
import type { PodAction } from "../plan/actions.ts";
import { ContainerConfigError } from "../ports.ts";
import { attemptIn } from "../record/observed.ts";
import { currentRound } from "../record/rounds.ts";
import type { StepResult } from "../record/signals.ts";
import { withLikelyCause } from "./likely-cause.ts";
import { failure, type Run } from "./run.ts";
import { stopContainer } from "./stop-containers.ts";

/** Pause after a container that the runtime did not start (kubelet backOffPeriod). */
const NOT_STARTED_MS = 10_000;

const CREATED = { type: "Normal", reason: "Created", message: "Container created" } as const;
const STARTED = { type: "Normal", reason: "Started", message: "Container started" } as const;
const HOOK = "FailedPostStartHook";
const HOOK_FAILED = { type: "Warning", reason: HOOK, message: "PostStartHook failed" } as const;
const failed = (problem: string) =>
  ({ type: "Warning", reason: "Failed", message: `Error: ${problem}` }) as const;

type StartAction = Extract<PodAction, { kind: "startContainer" }>;

/**
 * Starts one attempt of a container. A failure stays with this container; the others of the pod go on (kuberuntime
 * startContainer). The steps, each of which adds something to what it hands to the next:
 *
 * 1. `images.ensure`: the image is present, pulled by its policy, and held.
 * 2. `createFromImage` (this file): the place in the pod – sandbox, round, addresses, target container.
 * 3. `createAttempt` (`pipeline/ports/create-container.ts`): variables, mounts and devices, of all subsystems.
 * 4. `createConfigured` (`subsystems/runtime/runtime.ts`): the CRI configuration – security, user namespace, resources.
 * 5. `createContainer` (`outside/cri/runtime-client.ts`): the call itself; the container's id comes back.
 * 6. `startCreated` (this file): start, then the post-start hook.
 */
export async function startContainer(
  action: StartAction,
  run: Run,
): Promise<StepResult | undefined> {
  const { pod } = run.record;
  const { images, events } = run.deps.ports;
  const container = findContainer(pod, action.name)?.container;
  const sandboxId = action.sandboxId ?? run.sandboxId;
  if (!container || sandboxId === undefined) return undefined;
  const image = await images.ensure(
    {
      pod,
      container: action.name,
      image: container.image ?? "",
      policy: container.imagePullPolicy ?? "",
    },
    run.signal,
  );
  if (image.kind === "refused") {
    run.signal.throwIfAborted();
    events.ofPod(pod, failed(image.reason), action.name);
    return failure(run, { step: action.name, ...image });
  }
  const created = await createFromImage(action, run, { sandboxId, image });
  if (typeof created !== "string") return created;
  events.ofPod(pod, CREATED, action.name);
  const hasHook = container.lifecycle?.postStart !== undefined;
  return startCreated(action, run, { id: created, sandboxId, hasHook });
}

/** Adds the container's place in its pod; the image is held until the container is there, which keeps it from then on. */
async function createFromImage(
  action: StartAction,
  run: Run,
  at: { readonly sandboxId: string; readonly image: Extract<ImageOutcome, { kind: "present" }> },
): Promise<string | StepResult> {
  const { pod, observed } = run.record;
  const { runtime, events, resizes } = run.deps.ports;
  try {
    run.signal.throwIfAborted();
    await resizes.starting(pod, action.name);
    const options = {
      pod,
      sandboxId: at.sandboxId,
      container: action.name,
      containerKind: action.containerKind,
      restartCount: action.restartCount,
      round: currentRound(pod, observed),
      podIps: addressesIn(run, at.sandboxId),
      targetId: targetOf(action, run, at.sandboxId),
      image: at.image.image,
    };
    return await runtime.createAttempt(options, run.signal);
  } catch (error) {
    // Given up, not failed.
    run.signal.throwIfAborted();
    const reason = error instanceof ContainerConfigError ? error.reason : "CreateContainerError";
    const message = withLikelyCause(pod, plainMessageOf(error));
    events.ofPod(pod, failed(message), action.name);
    const retryInMs = error instanceof ContainerConfigError ? error.retryInMs : undefined;
    return failure(run, { step: action.name, reason, message, retryInMs });
  } finally {
    at.image.release();
  }
}

/** Addresses as last seen; none yet of a sandbox that this run has made, whatever an older one had. */
function addressesIn({ record }: Run, sandboxId: string): readonly string[] {
  return record.observed.sandboxes.find(({ id }) => id === sandboxId)?.ips ?? [];
}

/**
 * The container whose processes an ephemeral one is to see; throws when there is none. Of one that does
 * not run, the runtime says so (kuberuntime getTargetID).
 */
function targetOf({ name }: StartAction, { record }: Run, sandboxId: string): string | undefined {
  const target = record.pod.spec?.ephemeralContainers?.find(
    (each) => each.name === name,
  )?.targetContainerName;
  if (target === undefined || target === "") return undefined;
  const attempt = attemptIn(record.observed, sandboxId, target);
  if (!attempt) throw new ContainerConfigError(`unable to find target container ${target}`);
  return attempt.id;
}

async function startCreated(
  action: StartAction,
  run: Run,
  made: { readonly id: string; readonly sandboxId: string; readonly hasHook: boolean },
): Promise<StepResult> {
  const { id, sandboxId, hasHook } = made;
  const { pod } = run.record;
  const { runtime, events, hooks } = run.deps.ports;
  try {
    await runtime.startContainer(id, run.signal);
  } catch (error) {
    run.signal.throwIfAborted();
    const message = withLikelyCause(pod, plainMessageOf(error));
    events.ofPod(pod, { ...failed(message), containerId: id }, action.name);
    // The runtime keeps the attempt as exited, so the crash back-off decides when to try again; where it
    // does not, this pause keeps the tries apart.
    return failure(run, {
      step: action.name,
      reason: "RunContainerError",
      message,
      retryInMs: isOutside(error, "unavailable") ? undefined : NOT_STARTED_MS,
    });
  }
  events.ofPod(pod, STARTED, action.name);
  if (!hasHook) return { step: action.name, outcome: { kind: "done" } };
  try {
    await hooks.postStart(pod, { name: action.name, id, sandboxId }, run.signal);
    return { step: action.name, outcome: { kind: "done" } };
  } catch (error) {
    // Given up, not failed: the pod is ended otherwise, or the agent leaves.
    run.signal.throwIfAborted();
    return abandonAfterHook(action, run, id, messageOf(error));
  }
}

/** A container whose post-start hook failed is killed; the restart policy says what follows. */
async function abandonAfterHook(
  action: StartAction,
  run: Run,
  id: string,
  message: string,
): Promise<StepResult> {
  const { pod } = run.record;
  const { events } = run.deps.ports;
  events.ofPod(pod, HOOK_FAILED, action.name);
  const graceSeconds = graceSecondsOf(pod);
  const options = { id, name: action.name, graceSeconds, message: HOOK };
  await stopContainer({ ...options, preStop: true }, run).catch((error: unknown) => {
    run.deps.log.warn("stopping a container after its failed post-start hook", {
      container: action.name,
      error,
    });
  });
  return failure(run, { step: action.name, reason: "PostStartHookError", message, retryInMs: 0 });
}

import type { DecisionOutcome } from "../../../api/decisions.ts";
import { isOutside, messageOf } from "../../../kit/errors.ts";
import { noTracer } from "../../../kit/tracing/tracing.ts";
import type { PodAction } from "../plan/actions.ts";
import type { PodDeps } from "../ports.ts";
import { livingContainers, newestSandbox } from "../record/observed.ts";
import {
  type PodRecord,
  STEP_CLEANUP,
  STEP_PREPARE,
  STEP_RESIZE,
  STEP_SANDBOX,
  STEP_TEARDOWN,
} from "../record/record.ts";
import type { ActionOutcome, StepResult } from "../record/signals.ts";
import type { Attempt, Attempts } from "./attempts.ts";
import { withLikelyCause } from "./likely-cause.ts";
import { resizePod } from "./resize-pod.ts";
import { failure, type Run } from "./run.ts";
import { actionSpan, decisionsOf, syncSpan } from "./spans.ts";
import { startContainer } from "./start-container.ts";
import { stopContainers } from "./stop-containers.ts";
import { stopThawed } from "./thaw.ts";

/** Pause after a step that failed because the runtime did not answer. */
const RUNTIME_AWAY_MS = 1_000;

/** A step that ends the run: what follows makes no sense without it. */
class StepFailed extends Error {
  readonly result: StepResult;
  /** Containers that it failed for, where the others of the action came through. */
  readonly containers: readonly string[] | undefined;

  constructor(result: StepResult, containers?: readonly string[]) {
    super(result.outcome.kind === "failed" ? result.outcome.message : "step failed");
    this.result = result;
    this.containers = containers;
  }
}

interface ApplyDeps extends PodDeps {
  readonly attempts: Attempts;
}

type Executors = {
  readonly [K in PodAction["kind"]]: (
    action: Extract<PodAction, { kind: K }>,
    run: Run,
  ) => Promise<StepResult | undefined>;
};

const EXECUTORS: Executors = {
  makeDirectories: (_, run) =>
    changePrerequisite(run, "directories", "present", () =>
      run.deps.ports.prerequisites.makeDirectories(run.record.pod),
    ),
  createCgroup: async (_, run) => {
    let wasMissing = false;
    const result = await changePrerequisite(run, "cgroup", "present", async () => {
      wasMissing = await run.deps.ports.prerequisites.createCgroup(run.record.pod);
    });
    const { prerequisites, observed } = run.record;
    const strays = prerequisites.cgroup === "unknown" && livingContainers(observed).length > 0;
    // Containers that run were started in another cgroup without the limits: they are to be restarted.
    if (wasMissing && strays)
      throw new StepFailed({ ...result, prerequisite: { part: "cgroup", now: "absent" } });
    return result;
  },
  mountVolumes: async (_, run) => {
    const { pod } = run.record;
    const { prerequisites, resizes } = run.deps.ports;
    const result = await changePrerequisite(run, "volumes", "present", () =>
      prerequisites.mountVolumes(pod, run.signal),
    );
    resizes.prepared(pod);
    return result;
  },
  unmountVolumes: (_, run) =>
    changePrerequisite(run, "volumes", "absent", () =>
      run.deps.ports.prerequisites.unmountVolumes(run.record.pod, run.signal),
    ),
  removeCgroup: (_, run) =>
    changePrerequisite(run, "cgroup", "absent", () =>
      run.deps.ports.prerequisites.removeCgroup(run.record.pod),
    ),
  removeDirectories: (_, run) =>
    changePrerequisite(run, "directories", "absent", () =>
      run.deps.ports.prerequisites.removeDirectories(run.record.pod),
    ),

  prepareClaims: (_, run) =>
    changeClaims(run, "present", () => run.deps.ports.claims.prepare(run.record.pod, run.signal)),
  unprepareClaims: (_, run) =>
    changeClaims(run, "absent", () => run.deps.ports.claims.unprepare(run.record.pod, run.signal)),

  createSandbox: async ({ attempt }, run) => {
    const { pod } = run.record;
    const { runtime, events } = run.deps.ports;
    if (attempt > 0) {
      const message = "Pod sandbox changed, it will be killed and re-created.";
      events.ofPod(pod, { type: "Normal", reason: "SandboxChanged", message });
    }
    try {
      run.sandboxId = await runtime.createSandbox(pod, attempt, run.signal);
    } catch (error) {
      if (run.signal.aborted) throw error;
      // An unreachable runtime is reported by the node; the pod only retries soon.
      if (isOutside(error, "unavailable"))
        throw new StepFailed(
          failure(run, {
            step: STEP_SANDBOX,
            reason: "",
            message: messageOf(error),
            retryInMs: RUNTIME_AWAY_MS,
          }),
        );
      const cause = withLikelyCause(pod, messageOf(error));
      const message = `Failed to create pod sandbox: ${cause}`;
      events.ofPod(pod, { type: "Warning", reason: "FailedCreatePodSandBox", message });
      throw new StepFailed(
        failure(run, { step: STEP_SANDBOX, reason: "CreatePodSandboxError", message }),
      );
    }
    return done(STEP_SANDBOX);
  },

  startContainer: (action, run) => startContainer(action, run),

  stopContainers: async ({ stops }, run) => {
    const faults = await stopContainers(stops, run);
    const [first] = faults;
    if (!first) return done(STEP_TEARDOWN);
    recordNotKilled(
      run,
      faults.map(({ name, error }) => killFault("KillContainer", name, messageOf(error))),
    );
    const message = messageOf(first.error);
    const result = failure(run, { step: STEP_TEARDOWN, reason: "KillContainerError", message });
    const isUnreached = faults.every(({ error }) => isOutside(error, "unavailable"));
    throw new StepFailed(
      isUnreached ? { ...result, unreached: true } : result,
      faults.map(({ name }) => name),
    );
  },

  resizePod: (action, run) => resizePod(action, run),

  stopSandbox: ({ id, cleanup }, run) =>
    remove(run, cleanup, async () => {
      try {
        await stopThawed(run, 0, () => run.deps.ports.runtime.stopSandbox(id, run.signal));
      } catch (error) {
        if (!cleanup && !run.signal.aborted && !isOutside(error, "notFound"))
          recordNotKilled(run, [killFault("KillPodSandbox", run.record.uid, messageOf(error))]);
        throw error;
      }
    }),
  removeContainer: ({ id, name, restartCount, files, cleanup }, run) =>
    remove(run, cleanup, () => {
      const attempt = { pod: run.record.pod, id, container: name, restartCount, files };
      return run.deps.ports.runtime.removeContainer(attempt, run.signal);
    }),
  removeSandbox: ({ id, cleanup }, run) =>
    remove(run, cleanup, () =>
      run.deps.ports.runtime.removeSandbox(run.record.pod, id, run.signal),
    ),
};

/** Executes the actions one after the other; ends early when one fails that the rest depends on. */
export function applyPlan(
  record: PodRecord,
  actions: readonly PodAction[],
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<readonly StepResult[]> {
  const { tracer = noTracer } = deps;
  const { name, attributes } = syncSpan(record);
  return tracer.run(name, { attributes }, () => applyActions(record, actions, deps, signal));
}

async function applyActions(
  record: PodRecord,
  actions: readonly PodAction[],
  deps: ApplyDeps,
  signal: AbortSignal,
): Promise<readonly StepResult[]> {
  const run: Run = { record, deps, signal, sandboxId: newestSandbox(record.observed)?.id };
  const results: StepResult[] = [];
  for (const action of actions) {
    if (signal.aborted) break;
    const attempts = decisionsOf(action).map((decision) =>
      deps.attempts.begin(record.pod, decision),
    );
    const measure = measured(run, action);
    try {
      const result = await execute(action, run);
      if (result) results.push(result);
      measure(result?.outcome ?? { kind: "done" });
      for (const attempt of attempts) attempt.end(outcomeOf(action, result));
    } catch (error) {
      const result = resultOf(error, action, run);
      if (result) results.push(result);
      measure(result?.outcome ?? { kind: "abandoned" });
      for (const attempt of attempts)
        attempt.end(outcomeOfFailure(error, attempt, { run, result }));
      break;
    }
  }
  return results;
}

/** Begins to measure an action; the returned function takes its result. */
function measured({ record, deps }: Run, action: PodAction): (outcome: ActionOutcome) => void {
  const { clock, ports } = deps;
  const began = clock.monotonic();
  return (outcome) =>
    ports.measures.acted({ record, action, outcome, tookMs: clock.monotonic() - began });
}

/** Result for the record of a thrown error; undefined when the run was aborted. */
function resultOf(error: unknown, action: PodAction, run: Run): StepResult | undefined {
  if (error instanceof StepFailed) return error.result;
  if (run.signal.aborted) return undefined;
  run.deps.log.error("pod action failed", { action: action.kind, error });
  const message = messageOf(error);
  return failure(run, { step: stepOf(action), reason: "InternalError", message });
}

function outcomeOf(action: PodAction, result: StepResult | undefined): DecisionOutcome {
  if (result) return decisionOutcome(result.outcome);
  if (action.kind !== "startContainer") return { kind: "done" };
  return { kind: "abandoned", message: "there was no sandbox for it" };
}

function outcomeOfFailure(
  error: unknown,
  { decision: { inputs } }: Attempt,
  { run, result }: { readonly run: Run; readonly result: StepResult | undefined },
): DecisionOutcome {
  if (!result) return { kind: "abandoned", message: messageOf(run.signal.reason) };
  const failed = error instanceof StepFailed ? error.containers : undefined;
  if (failed && "container" in inputs && !failed.includes(inputs.container))
    return { kind: "done" };
  return decisionOutcome(result.outcome);
}

function decisionOutcome(outcome: ActionOutcome): DecisionOutcome {
  switch (outcome.kind) {
    case "done":
      return { kind: "done" };
    case "abandoned":
      return { kind: "abandoned", message: "" };
    case "failed":
      return { kind: "failed", reason: outcome.reason, message: outcome.message, times: 1 };
    default:
      return outcome satisfies never;
  }
}

function execute<K extends PodAction["kind"]>(
  action: Extract<PodAction, { kind: K }>,
  run: Run,
): Promise<StepResult | undefined> {
  const { tracer = noTracer } = run.deps;
  const { name, attributes } = actionSpan(action);
  const executor = EXECUTORS[action.kind] as Executors[K];
  return tracer.run(name, { attributes }, () => executor(action, run));
}

/** The step in whose name an action fails. */
const STEPS: {
  readonly [K in PodAction["kind"]]: (action: Extract<PodAction, { kind: K }>) => string;
} = {
  makeDirectories: () => STEP_PREPARE,
  createCgroup: () => STEP_PREPARE,
  mountVolumes: () => STEP_PREPARE,
  prepareClaims: () => STEP_PREPARE,
  unprepareClaims: () => STEP_TEARDOWN,
  createSandbox: () => STEP_SANDBOX,
  startContainer: ({ name }) => name,
  resizePod: () => STEP_RESIZE,
  stopContainers: () => STEP_TEARDOWN,
  stopSandbox: () => STEP_TEARDOWN,
  removeContainer: () => STEP_TEARDOWN,
  removeSandbox: () => STEP_TEARDOWN,
  unmountVolumes: () => STEP_TEARDOWN,
  removeCgroup: () => STEP_TEARDOWN,
  removeDirectories: () => STEP_TEARDOWN,
};

const stepOf = <K extends PodAction["kind"]>(action: Extract<PodAction, { kind: K }>): string =>
  (STEPS[action.kind] as (typeof STEPS)[K])(action);

/** One fault of killing a pod as the Go kubelet puts it (SyncResult). */
function killFault(action: string, target: string, message: string): string {
  return `failed to ${JSON.stringify(action)} for ${JSON.stringify(target)} with ${action}Error: ${JSON.stringify(message)}`;
}

function recordNotKilled(run: Run, faults: readonly string[]): void {
  const text = faults.length === 1 ? faults[0] : `[${faults.join(", ")}]`;
  run.deps.ports.events.ofPod(run.record.pod, {
    type: "Warning",
    reason: "FailedKillPod",
    message: `error killing pod: ${text}`,
  });
}

/** A failure ends the run, unless it is of a mere cleanup: then only cleanups are put off. */
async function remove(
  run: Run,
  cleanup: true | undefined,
  act: () => Promise<void>,
): Promise<StepResult | undefined> {
  const step = cleanup ? STEP_CLEANUP : STEP_TEARDOWN;
  try {
    await ignoreMissing(act);
    // What worked does not end the pause that another cleanup of the run has asked for.
    return cleanup && run.cleanupFailed ? undefined : done(step);
  } catch (error) {
    if (run.signal.aborted) throw error;
    const message = messageOf(error);
    const result = failure(run, { step, reason: "KillPodSandboxError", message });
    if (!cleanup) throw new StepFailed(result);
    run.cleanupFailed = true;
    run.deps.log.warn("failed to remove what a pod needs no more", { error: message });
    return result;
  }
}

async function ignoreMissing(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!isOutside(error, "notFound")) throw error;
  }
}

const PREREQUISITE_EVENTS: Readonly<
  Record<string, { readonly reason: string; readonly text: string }>
> = {
  "directories present": { reason: "Failed", text: "error making pod data directories: " },
  "cgroup present": {
    reason: "FailedCreatePodContainer",
    text: "unable to ensure pod container exists: ",
  },
  "volumes present": { reason: "FailedMount", text: "" },
};

async function changePrerequisite(
  run: Run,
  part: "directories" | "cgroup" | "volumes",
  now: "present" | "absent",
  act: () => Promise<void>,
): Promise<StepResult> {
  const step = now === "present" ? STEP_PREPARE : STEP_TEARDOWN;
  try {
    await act();
    return { step, outcome: { kind: "done" }, prerequisite: { part, now } };
  } catch (error) {
    if (run.signal.aborted) throw error;
    const event = PREREQUISITE_EVENTS[`${part} ${now}`];
    const message = `${event?.text ?? `cannot remove ${part}: `}${messageOf(error)}`;
    if (event)
      run.deps.ports.events.ofPod(run.record.pod, {
        type: "Warning",
        reason: event.reason,
        message,
      });
    throw new StepFailed(failure(run, { step, reason: event?.reason ?? "FailedKillPod", message }));
  }
}

/** Failures were reported as they happened. */
async function changeClaims(
  run: Run,
  now: "present" | "absent",
  act: () => Promise<void>,
): Promise<StepResult> {
  const step = now === "present" ? STEP_PREPARE : STEP_TEARDOWN;
  const reason = now === "present" ? "FailedPrepareDynamicResources" : "FailedKillPod";
  try {
    await act();
    return { step, outcome: { kind: "done" }, prerequisite: { part: "claims", now } };
  } catch (error) {
    if (run.signal.aborted) throw error;
    throw new StepFailed(failure(run, { step, reason, message: messageOf(error) }));
  }
}

function done(step: string): StepResult {
  return { step, outcome: { kind: "done" } };
}

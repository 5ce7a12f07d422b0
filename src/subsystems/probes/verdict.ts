// pure
import { INITIAL_PROBE_RESULT, type ProbeKind, type ProbeResult } from "../../api/probe-result.ts";
import type { MonotonicMs, WallMs } from "../../kit/clock.ts";

/** A probe's numbers with their defaults filled in; whole seconds only because the API has no finer ones. */
export interface ProbeRules {
  readonly kind: ProbeKind;
  readonly periodMs: number;
  /** A period of its own, from the pod's annotation. */
  readonly finePeriodMs: number | undefined;
  readonly timeoutMs: number;
  readonly initialDelaySeconds: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

/** State of the container of a probe. */
export interface ProbeFacts {
  /** The pod's phase is Succeeded or Failed. */
  readonly podEnded: boolean;
  /** The pod is being ended, for whatever cause, and the container with it; not set for sidecars. */
  readonly podEnding: boolean;
  /** The present attempt; `undefined` while there is none. */
  readonly containerId: string | undefined;
  readonly running: boolean;
  readonly startedAtMs: WallMs | undefined;
  /** `started` of the container's status. */
  readonly started: boolean;
  /** This very container passed this probe before, according to its status when the agent was started. */
  readonly confirmed: boolean;
  /** Whether a container that does not run has yet to start or will be started again. */
  readonly comesBack: boolean;
}

/** State of a probe worker between two attempts. */
export interface WorkerState {
  readonly containerId: string | undefined;
  /** When `containerId` was first seen running; it runs for at least as long. */
  readonly seenRunningAt: MonotonicMs | undefined;
  /** Nothing is probed until there is a new container. */
  readonly onHold: boolean;
  readonly last: ProbeResult | undefined;
  /** How many times in a row `last` was the result. */
  readonly run: number;
  /** Result published for `containerId`; `undefined` when none was. */
  readonly verdict: ProbeResult | undefined;
}

/** A worker that has seen nothing. */
export const NEW_WORKER: WorkerState = {
  containerId: undefined,
  seenRunningAt: undefined,
  onHold: false,
  last: undefined,
  run: 0,
  verdict: undefined,
};

/** The present time, wall and monotonic. */
export interface Moment {
  readonly monotonic: MonotonicMs;
  readonly wall: WallMs;
}

/** Why a worker does not probe now. */
type WaitReason =
  | "no container"
  | "on hold until the container is replaced"
  | "container is not running"
  | "within the initial delay"
  | "container has started"
  | "container has not started yet";

/** Why a worker has nothing more to do. */
type ExitReason = "pod has ended" | "pod is being ended" | "container will not come back";

/** Next step of a probe worker. */
export type Step =
  | { readonly kind: "probe" }
  | { readonly kind: "wait"; readonly why: WaitReason }
  | { readonly kind: "exit"; readonly why: ExitReason };

/** Whether time alone may change the step; otherwise it stays until something else is known of pod and container. */
export function endsWithTime(step: Step): boolean {
  return step.kind === "wait" && step.why === "within the initial delay";
}

/** The worker after a turn; `publish` holds the verdicts that changed, in order. */
interface WorkerStep {
  readonly state: WorkerState;
  readonly publish: readonly ProbeResult[];
}

const PROBE: Step = { kind: "probe" };

/**
 * The next step of a worker (worker.doProbe of the Go kubelet, up to the probe itself).
 * Unlike there, a new container begins with no results in a row: failures of the one before it, or
 * successes, say nothing about it.
 */
export function consider(
  rules: ProbeRules,
  before: WorkerState,
  facts: ProbeFacts,
  now: Moment,
): WorkerStep & { readonly step: Step } {
  if (facts.podEnded) return { state: before, publish: [], step: exit("pod has ended") };
  if (facts.containerId === undefined) {
    return { state: before, publish: [], step: wait("no container") };
  }
  const { state, publish } = adopt(rules, before, facts);
  if (state.onHold)
    return { state, publish, step: wait("on hold until the container is replaced") };
  if (!facts.running) {
    const step = facts.comesBack
      ? wait("container is not running")
      : exit("container will not come back");
    // Unlike there, liveness and startup fail by attempts alone: seen in between made and started, a container would be
    // ended for it as soon as it runs.
    return rules.kind === "readiness"
      ? { ...published(state, "failure", publish), step }
      : { state, publish, step };
  }
  if (facts.podEnding && rules.kind !== "readiness") {
    return { ...published(state, "success", publish), step: exit("pod is being ended") };
  }
  const running =
    state.seenRunningAt === undefined ? { ...state, seenRunningAt: now.monotonic } : state;
  return { state: running, publish, step: gate(rules, running, facts, now) };
}

/** Counts a result and returns what follows from it (the rest of worker.doProbe). */
export function conclude(
  rules: ProbeRules,
  before: WorkerState,
  result: "success" | "failure",
): WorkerStep {
  const run = before.last === result ? before.run + 1 : 1;
  const state: WorkerState = { ...before, last: result, run };
  const threshold = result === "failure" ? rules.failureThreshold : rules.successThreshold;
  if (run < threshold) return { state, publish: [] };
  const turn = published(state, result, []);
  const isFinal = rules.kind === "startup" || (rules.kind === "liveness" && result === "failure");
  return isFinal ? { ...turn, state: { ...turn.state, onHold: true, run: 0 } } : turn;
}

/** Whether a readiness probe is worth an extra run: the container is up and not known to be ready. */
export function needsTrigger(rules: ProbeRules, state: WorkerState, facts: ProbeFacts): boolean {
  const isKnownReady = state.containerId === facts.containerId && state.verdict === "success";
  return (
    rules.kind === "readiness" &&
    facts.containerId !== undefined &&
    facts.running &&
    facts.started &&
    !facts.podEnded &&
    !isKnownReady
  );
}

/**
 * Whether a worker whose last step was `idle` has something to do, by what `consider` finds now: one that has ended may be
 * needed again, and one that waits may wait for something else, which its next turn finds.
 */
export function hasMoreToDo(
  idle: Step,
  { publish, step }: Pick<WorkerStep, "publish"> & { readonly step: Step },
): boolean {
  if (idle.kind !== "wait" || step.kind !== "wait") return step.kind !== idle.kind;
  return publish.length > 0 || step.why !== idle.why;
}

function adopt(rules: ProbeRules, before: WorkerState, facts: ProbeFacts): WorkerStep {
  if (before.containerId === facts.containerId) return { state: before, publish: [] };
  const state: WorkerState = { ...NEW_WORKER, containerId: facts.containerId };
  // Published at once, "not ready" of a container that was ready all along would take it out of service.
  return facts.confirmed && facts.running
    ? { state: { ...state, verdict: "success" }, publish: [] }
    : published(state, INITIAL_PROBE_RESULT[rules.kind], []);
}

function gate(rules: ProbeRules, state: WorkerState, facts: ProbeFacts, now: Moment): Step {
  if (ageSeconds(state, facts, now) < rules.initialDelaySeconds) {
    return wait("within the initial delay");
  }
  if (rules.kind === "startup") {
    return facts.started ? wait("container has started") : PROBE;
  }
  return facts.started ? PROBE : wait("container has not started yet");
}

/** Whole seconds since the container started; a wall clock that was set back cannot make it younger. */
function ageSeconds(state: WorkerState, facts: ProbeFacts, now: Moment): number {
  const sinceSeen = now.monotonic - (state.seenRunningAt ?? now.monotonic);
  const sinceStarted = facts.startedAtMs === undefined ? 0 : now.wall - facts.startedAtMs;
  return Math.floor(Math.max(sinceSeen, sinceStarted) / 1000);
}

function published(
  state: WorkerState,
  result: ProbeResult,
  before: readonly ProbeResult[],
): WorkerStep {
  if (state.verdict === result) return { state, publish: before };
  return { state: { ...state, verdict: result }, publish: [...before, result] };
}

function wait(why: WaitReason): Step {
  return { kind: "wait", why };
}

function exit(why: ExitReason): Step {
  return { kind: "exit", why };
}

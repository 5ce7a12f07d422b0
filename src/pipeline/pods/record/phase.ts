// pure

import type { Pod } from "../../../api/generated/types.ts";
import { lastEnd } from "./lost-containers.ts";
import { attemptIn, lastMade, latestAttempt, newestSandbox } from "./observed.ts";
import type { PodRecord } from "./record.ts";
import {
  decideRestart,
  type EndedAttempt,
  hasFailed,
  initContainers,
  regularContainers,
  type SpecContainer,
  specContainers,
} from "./restart.ts";

/** `status.phase` without Unknown, which no kubelet sets. */
export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed";

/** The coarse state of one container for the phase rules. */
type Standing =
  | { readonly kind: "notStarted" }
  | { readonly kind: "running" }
  | { readonly kind: "stopped"; readonly attempt: EndedAttempt & { readonly outdated?: true } }
  /** It ended, and its next attempt is made but not started. */
  | { readonly kind: "restarting" }
  | { readonly kind: "unknown" };

function standingOf(record: PodRecord, spec: SpecContainer): Standing {
  const attempt = lastMade(record.observed, spec.container.name);
  if (!attempt) {
    const end = lastEnd(record, spec.container.name);
    return end ? { kind: "stopped", attempt: end } : { kind: "notStarted" };
  }
  switch (attempt.state) {
    case "running":
      return { kind: "running" };
    case "exited":
      return { kind: "stopped", attempt };
    case "created":
      return { kind: hasEnded(record, spec.container.name) ? "restarting" : "notStarted" };
    case "unknown":
      return { kind: "unknown" };
    default:
      return attempt.state satisfies never;
  }
}

function hasEnded({ observed }: PodRecord, name: string): boolean {
  return observed.containers.some((attempt) => attempt.name === name && attempt.state === "exited");
}

/**
 * Whether the pod has nothing left to do: an init container failed for good, or every regular container
 * ended and none is to be started again. Sidecars do not keep it alive.
 */
export function isFinished(record: PodRecord): boolean {
  const endedForGood = (spec: SpecContainer): EndedAttempt | undefined => {
    const end = lastEnd(record, spec.container.name);
    return !end || decideRestart(record.pod, spec, end).restart ? undefined : end;
  };
  const initFailed = initContainers(record.pod).some((spec) => {
    const attempt = spec.kind === "init" ? endedForGood(spec) : undefined;
    return attempt !== undefined && failedInit(attempt, everInitialized(record));
  });
  return (
    initFailed || regularContainers(record.pod).every((spec) => endedForGood(spec) !== undefined)
  );
}

/** Whether an init container failed; what followed it shows that it was taken for done, as by earlier versions. */
function failedInit(attempt: EndedAttempt, initialized: boolean): boolean {
  return initialized ? attempt.exitCode !== 0 : hasFailed("init", attempt);
}

/** Whether any regular container was ever made in this pod. */
export function hasRegularAttempt(record: PodRecord): boolean {
  return regularContainers(record.pod).some(
    ({ container }) => latestAttempt(record.observed, container.name) !== undefined,
  );
}

/** Whether any regular container of the pod ever ran, also before all of them were restarted. */
function everInitialized(record: PodRecord): boolean {
  return regularContainers(record.pod).some(
    ({ container: { name } }) => lastMade(record.observed, name) ?? lastEnd(record, name),
  );
}

/**
 * Whether a pod that ran before is to be initialized again: its sandbox is another one, as after a reboot, and none
 * of its regular containers is in it yet.
 */
function initializesAgain(record: PodRecord): boolean {
  if (!everInitialized(record) || isFinished(record)) return false;
  const { observed, pod } = record;
  const sandbox = newestSandbox(observed);
  const names = new Set(regularContainers(pod).map(({ container }) => container.name));
  return !observed.containers.some(
    ({ name, sandboxId }) => names.has(name) && sandboxId === sandbox?.id,
  );
}

/** Whether the running attempt of a container counts as started: its startup probe succeeded, or it has none. */
export function isStarted(record: PodRecord, { container }: SpecContainer): boolean {
  if (!container.startupProbe) return true;
  const verdicts = record.tracked.probes[container.name];
  return (
    verdicts?.containerId === latestAttempt(record.observed, container.name)?.id &&
    verdicts?.startup === "success"
  );
}

interface Counts {
  pendingInit: number;
  failedInit: number;
  waiting: number;
  running: number;
  stopped: number;
  succeeded: number;
  unknown: number;
}

/**
 * The phase of a pod from its record (kubelet_pods.go getPhase). A pod that is being ended counts its
 * stopped containers as done for good whatever the restart policy.
 */
export function derivePhase(record: PodRecord): PodPhase {
  const terminating = record.life.kind !== "waiting" && record.life.kind !== "running";
  if (record.admission.kind === "rejected") return "Failed";
  if (terminating && "cause" in record.life && record.life.cause.kind === "evicted")
    return "Failed";
  const counts = countContainers(record);
  if (counts.failedInit > 0) return "Failed";
  if (counts.pendingInit > 0 && !terminating) return "Pending";
  if (counts.waiting > 0 && !terminating) return "Pending";
  if (counts.running > 0 && counts.unknown === 0) return "Running";
  if (counts.running === 0 && counts.stopped > 0 && counts.unknown === 0)
    return phaseOfStopped(record, counts, terminating);
  return terminating && counts.unknown === 0 ? "Failed" : "Pending";
}

function phaseOfStopped(record: PodRecord, counts: Counts, terminating: boolean): PodPhase {
  if (terminating)
    return counts.stopped === counts.succeeded && counts.waiting === 0 ? "Succeeded" : "Failed";
  const restartable = regularContainers(record.pod).some((spec) => {
    const { name } = spec.container;
    if (lastMade(record.observed, name)?.outdated === true) return true;
    if (standingOf(record, spec).kind === "restarting") return true;
    const end = lastEnd(record, name);
    return end !== undefined && decideRestart(record.pod, spec, end).restart;
  });
  if (restartable) return "Running";
  return counts.stopped === counts.succeeded ? "Succeeded" : "Failed";
}

function countContainers(record: PodRecord): Counts {
  const counts: Counts = {
    pendingInit: 0,
    failedInit: 0,
    waiting: 0,
    running: 0,
    stopped: 0,
    succeeded: 0,
    unknown: 0,
  };
  const again = initializesAgain(record);
  const initialized = everInitialized(record) && !again;
  const sandboxId = newestSandbox(record.observed)?.id ?? "";
  for (const spec of specContainers(record.pod)) {
    const { name } = spec.container;
    const isPast = again && !attemptIn(record.observed, sandboxId, name);
    const standing: Standing =
      isPast && spec.kind !== "regular" ? { kind: "notStarted" } : standingOf(record, spec);
    if (spec.kind === "init") countInit(record.pod, { spec, standing, initialized }, counts);
    else if (spec.kind === "sidecar") countSidecar(record, { spec, standing, initialized }, counts);
    else countRegular(standing, counts);
  }
  return counts;
}

/** An init container on its turn; after the first regular container was made none of them has a turn. */
interface InitTurn {
  readonly spec: SpecContainer;
  readonly standing: Standing;
  readonly initialized: boolean;
}

function countInit(pod: Pod, { spec, standing, initialized }: InitTurn, counts: Counts): void {
  if (standing.kind !== "stopped") {
    if (!initialized) counts.pendingInit += 1;
    return;
  }
  const { attempt } = standing;
  if (!failedInit(attempt, initialized) || attempt.outdated === true) return;
  if (decideRestart(pod, spec, attempt).restart) counts.pendingInit += 1;
  else counts.failedInit += 1;
}

function countSidecar(
  record: PodRecord,
  { spec, standing, initialized }: InitTurn,
  counts: Counts,
): void {
  if (standing.kind === "running") {
    if (!initialized && !isStarted(record, spec)) counts.pendingInit += 1;
    else counts.running += 1;
  } else if (!initialized) counts.pendingInit += 1;
  else if (standing.kind === "notStarted") counts.waiting += 1;
  // One that ended does not decide the pod's phase, nor does one that is to run again.
}

function countRegular(standing: Standing, counts: Counts): void {
  switch (standing.kind) {
    case "notStarted":
      counts.waiting += 1;
      return;
    case "running":
      counts.running += 1;
      return;
    case "unknown":
      counts.unknown += 1;
      return;
    case "stopped":
      counts.stopped += 1;
      if (standing.attempt.exitCode === 0) counts.succeeded += 1;
      return;
    case "restarting":
      // It waits with an earlier end: stopped, and however that went, it has not succeeded.
      counts.stopped += 1;
      return;
    default:
      standing satisfies never;
  }
}

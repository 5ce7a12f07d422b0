// pure

import { newestSandbox } from "./observed.ts";
import type { PodRecord } from "./record.ts";
import { type EndedAttempt, hasFailed } from "./restart.ts";
import { type ContainerStanding, type PodStandings, standingsOf, wasMade } from "./standing.ts";

/** `status.phase` without Unknown, which no kubelet sets. */
export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed";

/**
 * Whether the pod has nothing left to do: an init container failed for good, or every regular container
 * ended and none is to be started again. Sidecars do not keep it alive.
 */
export function isFinished(standings: PodStandings): boolean {
  const { init, regular } = standings;
  const isInitialized = regular.some(wasMade);
  const initFailed = init.some(
    ({ kind, end, restart }) =>
      kind === "init" && end && restart?.restart === false && failedInit(end, isInitialized),
  );
  return initFailed || regular.every(({ restart }) => restart?.restart === false);
}

/** Whether an init container failed; what followed it shows that it was taken for done, as by earlier versions. */
function failedInit(attempt: EndedAttempt, initialized: boolean): boolean {
  return initialized ? attempt.exitCode !== 0 : hasFailed("init", attempt);
}

/**
 * Whether a pod that ran before is to be initialized again: its sandbox is another one, as after a reboot, and none
 * of its regular containers is in it yet.
 */
function initializesAgain({ observed }: PodRecord, standings: PodStandings): boolean {
  const { regular } = standings;
  if (!regular.some(wasMade) || isFinished(standings)) return false;
  const sandbox = newestSandbox(observed);
  return !regular.some(({ attempts }) =>
    attempts.some(({ sandboxId }) => sandboxId === sandbox?.id),
  );
}

/** The coarse state of one container for the phase rules; `restarting`: its next attempt is made but not started. */
type CoarseState = "notStarted" | "running" | "stopped" | "restarting" | "unknown";

function coarseState({ attempts, end }: ContainerStanding): CoarseState {
  const [newest] = attempts;
  if (!newest) return end ? "stopped" : "notStarted";
  switch (newest.state) {
    case "running":
    case "unknown":
      return newest.state;
    case "exited":
      return "stopped";
    case "created":
      return attempts.some(({ state }) => state === "exited") ? "restarting" : "notStarted";
    default:
      return newest.state satisfies never;
  }
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
export function derivePhase(record: PodRecord, standings = standingsOf(record)): PodPhase {
  const terminating = record.life.kind !== "waiting" && record.life.kind !== "running";
  if (record.admission.kind === "rejected") return "Failed";
  if (terminating && isFailedByNode(record)) return "Failed";
  const counts = countContainers(record, standings);
  if (counts.failedInit > 0) return "Failed";
  if (counts.pendingInit > 0 && !terminating) return "Pending";
  if (counts.waiting > 0 && !terminating) return "Pending";
  if (counts.running > 0 && counts.unknown === 0) return "Running";
  if (counts.running === 0 && counts.stopped > 0 && counts.unknown === 0)
    return phaseOfStopped(standings, counts, terminating);
  return terminating && counts.unknown === 0 ? "Failed" : "Pending";
}

/** Whether the node ends the pod, and its containers' exit codes do not matter. */
function isFailedByNode({ life, desired }: PodRecord): boolean {
  if (!("cause" in life) || life.cause.kind !== "evicted") return false;
  return life.cause.byExitCodes !== true || desired.source !== "api";
}

function phaseOfStopped(standings: PodStandings, counts: Counts, terminating: boolean): PodPhase {
  if (terminating)
    return counts.stopped === counts.succeeded && counts.waiting === 0 ? "Succeeded" : "Failed";
  const restartable = standings.regular.some(
    (standing) =>
      standing.attempts[0]?.outdated === true ||
      coarseState(standing) === "restarting" ||
      standing.restart?.restart === true,
  );
  if (restartable) return "Running";
  return counts.stopped === counts.succeeded ? "Succeeded" : "Failed";
}

function countContainers(record: PodRecord, standings: PodStandings): Counts {
  const counts: Counts = {
    pendingInit: 0,
    failedInit: 0,
    waiting: 0,
    running: 0,
    stopped: 0,
    succeeded: 0,
    unknown: 0,
  };
  const again = initializesAgain(record, standings);
  const initialized = standings.regular.some(wasMade) && !again;
  for (const standing of standings.init) {
    const isPast = again && !standing.here;
    const state = isPast ? "notStarted" : coarseState(standing);
    if (standing.kind === "init") countInit({ standing, state, initialized }, counts);
    else countSidecar({ standing, state, initialized }, counts);
  }
  for (const standing of standings.regular) countRegular(standing, counts);
  return counts;
}

/** An init container on its turn; after the first regular container was made none of them has a turn. */
interface InitTurn {
  readonly standing: ContainerStanding;
  readonly state: CoarseState;
  readonly initialized: boolean;
}

function countInit({ standing, state, initialized }: InitTurn, counts: Counts): void {
  const { attempts, end, restart } = standing;
  const ended = attempts[0] ?? end;
  if (state !== "stopped" || !ended) {
    if (!initialized) counts.pendingInit += 1;
    return;
  }
  if (!failedInit(ended, initialized) || attempts[0]?.outdated === true) return;
  if (restart?.restart) counts.pendingInit += 1;
  else counts.failedInit += 1;
}

function countSidecar({ standing, state, initialized }: InitTurn, counts: Counts): void {
  if (state === "running") {
    // Of a round that is over no probe results are known.
    const { latest, started, container } = standing;
    const isStarted = latest ? started : !container.startupProbe;
    if (!initialized && !isStarted) counts.pendingInit += 1;
    else counts.running += 1;
  } else if (!initialized) counts.pendingInit += 1;
  else if (state === "notStarted") counts.waiting += 1;
  // One that ended does not decide the pod's phase, nor does one that is to run again.
}

function countRegular(standing: ContainerStanding, counts: Counts): void {
  const state = coarseState(standing);
  switch (state) {
    case "notStarted":
      counts.waiting += 1;
      return;
    case "running":
    case "unknown":
      counts[state] += 1;
      return;
    case "stopped":
      counts.stopped += 1;
      if ((standing.attempts[0] ?? standing.end)?.exitCode === 0) counts.succeeded += 1;
      return;
    case "restarting":
      // It waits with an earlier end: stopped, and however that went, it has not succeeded.
      counts.stopped += 1;
      return;
    default:
      state satisfies never;
  }
}

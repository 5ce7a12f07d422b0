// pure

import type { Observation, PodUid } from "../../../api/observation.ts";
import { findContainer, graceSecondsOf, podDescription } from "../../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { MonotonicMs, WallMs } from "../../../kit/clock.ts";
import { InvariantError } from "../../../kit/errors.ts";
import { after } from "../../../kit/instant.ts";
import { lostSince } from "./lost-containers.ts";
import { livingContainers } from "./observed.ts";
import { isFinished } from "./phase.ts";
import { everyPrerequisite, isAbsent, isNothingPrepared } from "./prerequisites.ts";
import {
  asSpecified,
  type LostContainers,
  type PodLife,
  type PodOrigin,
  type PodRecord,
  type PodResize,
  type PrerequisiteState,
  type Prerequisites,
  type ProbeVerdicts,
  type Retries,
  STEP_TEARDOWN,
  type StepFailure,
  type TerminationCause,
  type TrackedContainers,
} from "./record.ts";
import { withDesired, withResized, withResizeSettled } from "./resize-state.ts";
import { inRounds } from "./rounds.ts";
import { cannotGoOn } from "./sandbox.ts";
import type { PodSignal } from "./signals.ts";
import { standingsOf } from "./standing.ts";

interface NewRecord {
  readonly uid: PodUid;
  readonly pod: IdentifiedPod;
  /** As its source has it, where that is not `pod`. */
  readonly desired?: IdentifiedPod;
  /** State of its resize in place, unless it has just begun. */
  readonly resize?: PodResize;
  readonly source: PodOrigin;
  readonly observed: Observation;
  readonly startedAt: WallMs;
  /** Whether this agent may have made things for the pod in a previous run. */
  readonly mayHavePrerequisites: boolean;
  /** The probe results known by then. */
  readonly probes?: TrackedContainers["probes"];
  /** Containers that had run by then and are gone from the runtime. */
  readonly lost?: LostContainers;
}

/** The first record of a pod. */
export function newRecord(from: NewRecord): PodRecord {
  const prerequisite: PrerequisiteState = from.mayHavePrerequisites ? "unknown" : "absent";
  return {
    uid: from.uid,
    startedAt: from.startedAt,
    pod: from.pod,
    desired: { pod: from.desired ?? from.pod, source: from.source, removed: false },
    resize: from.resize ?? { actuated: asSpecified(from.pod) },
    life: { kind: "waiting" },
    admission: { kind: "undecided" },
    prerequisites: everyPrerequisite(from.pod, prerequisite),
    observed: inRounds(from.pod, from.observed),
    sync: { freshness: "fresh", actedAt: from.observed.asOf, degraded: undefined },
    retries: { backoff: {}, failures: {} },
    tracked: { probes: from.probes ?? {}, replaced: [], lost: from.lost ?? {} },
    lastPlan: { waits: {}, standing: [], progress: {} },
  };
}

type Signal<K extends PodSignal["kind"]> = Extract<PodSignal, { kind: K }>;

/**
 * One turn of a pod: take in one signal, then move life forward as far as the facts allow. Throws `InvariantError`
 * rather than moving it in any other way.
 */
export function transition(record: PodRecord, signal: PodSignal, now: MonotonicMs): PodRecord {
  return advance(checkEdge(record, absorb(record, signal, now)), now);
}

/** Where each life may lead: a pod that went another way would be ended, or started again, for no reason. */
const EDGES: Readonly<Record<PodLife["kind"], readonly PodLife["kind"][]>> = {
  waiting: ["waiting", "running", "terminating"],
  running: ["running", "terminating"],
  terminating: ["terminating", "terminated"],
  terminated: ["terminated", "released"],
  released: ["released"],
};

/** The record after one step, if its life may follow that of the record before. */
export function checkEdge(before: PodRecord, next: PodRecord): PodRecord {
  const [from, to] = [before.life.kind, next.life.kind];
  if (EDGES[from].includes(to)) return next;
  const pod = podDescription(before.pod);
  throw new InvariantError(`the life of pod ${pod} cannot go from ${from} to ${to}`);
}

/** Applies the signal to the record. Moves life only where the signal itself asks for it. */
function absorb(record: PodRecord, signal: PodSignal, now: MonotonicMs): PodRecord {
  switch (signal.kind) {
    case "desired":
      return endWhenDeleted(desire(record, signal), now);
    case "resized":
      return withResized(record, signal);
    case "resizePending":
      return record.resize.requested
        ? { ...record, resize: { ...record.resize, pending: signal.pending } }
        : record;
    case "removed":
      return drop(record, signal, now);
    case "admitted":
      return admit(record);
    case "deferred":
      return record.life.kind === "waiting" ? { ...record, admission: signal } : record;
    case "rejected":
      return reject(record, signal, now);
    case "terminate":
      return end(record, signal.cause, signal.graceSeconds, now);
    case "observed":
      return observe(record, signal.observed);
    case "unobserved":
      return unobserved(record, signal);
    case "acting":
      return begin(record, signal, now);
    case "acted":
      return finish(record, signal);
    case "probed":
      return probed(record, signal);
    case "progress":
      return progressed(record, signal);
    case "clear":
      return clear(record);
    case "tick":
      return record;
    default:
      return signal satisfies never;
  }
}

/** Takes the pod of the source; containers with another image are not held back by earlier failures. */
function desire(record: PodRecord, { pod }: Signal<"desired">): PodRecord {
  const retries = withoutOldImages(record, pod);
  return withDesired({ ...record, retries }, pod);
}

function drop(record: PodRecord, { graceSeconds }: Signal<"removed">, now: MonotonicMs): PodRecord {
  const desired = { ...record.desired, removed: true };
  return end({ ...record, desired }, { kind: "deleted" }, graceSeconds, now);
}

function clear(record: PodRecord): PodRecord {
  const { life } = record;
  return life.kind === "terminated" ? { ...record, life: { ...life, cleared: true } } : record;
}

/** Drops failures of containers whose image the desired pod has changed. */
function withoutOldImages({ pod, retries }: PodRecord, desired: IdentifiedPod): Retries {
  const { failures } = retries;
  const imageIn = (of: IdentifiedPod, name: string) => findContainer(of, name)?.container.image;
  const isOld = (step: string) => imageIn(pod, step) !== imageIn(desired, step);
  if (!Object.keys(failures).some(isOld)) return retries;
  const kept = Object.entries(failures).filter(([step]) => !isOld(step));
  return { ...retries, failures: Object.fromEntries(kept) };
}

function admit(record: PodRecord): PodRecord {
  if (record.life.kind !== "waiting") return record;
  return { ...record, admission: { kind: "admitted" }, life: { kind: "running" } };
}

function reject(record: PodRecord, admission: Signal<"rejected">, now: MonotonicMs): PodRecord {
  if (record.life.kind !== "waiting") return record;
  return end({ ...record, admission }, { kind: "rejected" }, undefined, now);
}

/** A pod that the API is deleting ends within the grace it was given. */
function endWhenDeleted(record: PodRecord, now: MonotonicMs): PodRecord {
  const { deletionTimestamp, deletionGracePeriodSeconds } = record.pod.metadata;
  if (deletionTimestamp === undefined) return record;
  return end(record, { kind: "deleted" }, deletionGracePeriodSeconds, now);
}

/** The grace only ever shrinks and is never below one second (pod_workers calculateEffectiveGracePeriod). */
function end(
  record: PodRecord,
  cause: TerminationCause,
  graceSeconds: number | undefined,
  now: MonotonicMs,
): PodRecord {
  const { life } = record;
  // What is requested now does not wait for the pause after an earlier failure.
  const { [STEP_TEARDOWN]: _, ...failures } = record.retries.failures;
  const retries = { ...record.retries, failures };
  switch (life.kind) {
    case "waiting":
    case "running": {
      const seconds = Math.max(1, graceSeconds ?? graceSecondsOf(record.pod));
      return {
        ...record,
        retries,
        life: {
          kind: "terminating",
          cause,
          graceSeconds: seconds,
          killBy: after(now, seconds * 1000),
        },
      };
    }
    case "terminating": {
      if (graceSeconds === undefined) return record;
      const seconds = Math.max(1, graceSeconds);
      const killBy = after(now, seconds * 1000);
      if (life.asked ? killBy >= life.killBy : seconds >= life.graceSeconds) return record;
      return {
        ...record,
        retries,
        life: { ...life, graceSeconds: Math.min(seconds, life.graceSeconds), killBy },
      };
    }
    case "terminated":
    case "released":
      return record;
    default:
      return life satisfies never;
  }
}

/** Only what was asked after the last run of actions ended is fresh; older observations are kept out. */
function observe(record: PodRecord, observed: Observation): PodRecord {
  if (observed.asOf < record.observed.asOf) return record;
  const { sync, tracked } = record;
  const fresh = observed.asOf >= sync.actedAt ? "fresh" : "stale";
  const freshness = sync.freshness === "acting" ? "acting" : fresh;
  const seen = withReplaced(inRounds(record.pod, observed), tracked.replaced);
  return {
    ...record,
    observed: seen.observed,
    sync: { ...sync, freshness, degraded: undefined },
    tracked: { ...tracked, replaced: seen.replaced, lost: lostSince(record, observed) },
  };
}

/** The last observation may be outdated: nothing is planned on it until the pod can be observed. */
function unobserved(record: PodRecord, { asOf, problem }: Signal<"unobserved">): PodRecord {
  if (asOf < record.observed.asOf) return record;
  const { sync } = record;
  const freshness = sync.freshness === "acting" ? "acting" : "stale";
  return { ...record, sync: { ...sync, freshness, degraded: problem ?? sync.degraded } };
}

/** Marks the attempts that were stopped to be started again; those that are gone are forgotten. */
function withReplaced(
  observed: Observation,
  ids: readonly string[],
): Pick<PodRecord, "observed"> & Pick<TrackedContainers, "replaced"> {
  if (ids.length === 0) return { observed, replaced: ids };
  const containers = observed.containers.map((attempt) =>
    ids.includes(attempt.id) ? { ...attempt, replaced: true as const } : attempt,
  );
  const here = new Set(containers.map(({ id }) => id));
  return { observed: { ...observed, containers }, replaced: ids.filter((id) => here.has(id)) };
}

function begin(record: PodRecord, signal: Signal<"acting">, now: MonotonicMs): PodRecord {
  const { backoff, touches, replaces, stops } = signal;
  const prerequisites = { ...record.prerequisites } as {
    -readonly [K in keyof Prerequisites]: Prerequisites[K];
  };
  for (const part of touches) if (isAbsent(record, part)) prerequisites[part] = "unknown";
  const { sync, retries, tracked } = record;
  return {
    ...record,
    life: stops ? asked(record.life, now) : record.life,
    sync: { ...sync, freshness: "acting" },
    prerequisites,
    retries: { ...retries, backoff: { ...retries.backoff, ...backoff } },
    tracked: { ...tracked, replaced: [...new Set([...tracked.replaced, ...replaces])] },
  };
}

/** The grace begins when the containers are first asked to stop, however long ago the pod was to end. */
function asked(life: PodLife, now: MonotonicMs): PodLife {
  if (life.kind !== "terminating" || life.asked) return life;
  return { ...life, asked: true, killBy: after(now, life.graceSeconds * 1000) };
}

function unasked(life: PodLife): PodLife {
  if (life.kind !== "terminating") return life;
  const { asked: _, ...rest } = life;
  return rest;
}

function finish(record: PodRecord, { results, at, actuated }: Signal<"acted">): PodRecord {
  const failures: Record<string, StepFailure> = { ...record.retries.failures };
  const prerequisites = { ...record.prerequisites } as {
    -readonly [K in keyof Prerequisites]: Prerequisites[K];
  };
  for (const { step, outcome, prerequisite } of results) {
    if (prerequisite) prerequisites[prerequisite.part] = prerequisite.now;
    if (outcome.kind === "done") delete failures[step];
    else if (outcome.kind === "failed") {
      const { reason, message, retryInMs } = outcome;
      failures[step] = {
        reason,
        message,
        failures: (failures[step]?.failures ?? 0) + 1,
        notBefore: after(at, retryInMs),
      };
    }
  }
  return {
    ...record,
    life: results.some(({ unreached }) => unreached) ? unasked(record.life) : record.life,
    sync: { ...record.sync, freshness: "stale", actedAt: at },
    retries: { ...record.retries, failures },
    prerequisites,
    resize: { ...record.resize, actuated },
    lastPlan: { ...record.lastPlan, progress: {} },
  };
}

function probed(
  record: PodRecord,
  { container, containerId, probe, result }: Signal<"probed">,
): PodRecord {
  const { tracked } = record;
  const kept = tracked.probes[container];
  const verdicts: ProbeVerdicts =
    kept?.containerId === containerId
      ? { ...kept, [probe]: result }
      : { containerId, [probe]: result };
  const probes = { ...tracked.probes, [container]: verdicts };
  return { ...record, tracked: { ...tracked, probes } };
}

/** Progress belongs to the run of actions that makes it. */
function progressed(record: PodRecord, { container, message }: Signal<"progress">): PodRecord {
  const { sync, lastPlan } = record;
  if (sync.freshness !== "acting" || lastPlan.progress[container] === message) return record;
  const { [container]: _, ...others } = lastPlan.progress;
  const progress = message === undefined ? others : { ...others, [container]: message };
  return { ...record, lastPlan: { ...lastPlan, progress } };
}

/**
 * The steps forward that facts alone allow. Without a fresh observation none is taken: what seems not
 * to run may just have been started.
 */
function advance(record: PodRecord, now: MonotonicMs): PodRecord {
  if (record.sync.freshness !== "fresh") return record;
  const ending = checkEdge(record, completed(record, now));
  const ended = checkEdge(ending, terminated(ending));
  return checkEdge(ended, released(ended));
}

/** running -> terminating: nothing of it is to run again. */
function completed(record: PodRecord, now: MonotonicMs): PodRecord {
  if (record.life.kind !== "running") return record;
  const standings = standingsOf(record);
  const settled = withResizeSettled(record, standings);
  const isOver = isFinished(standings) || cannotGoOn(settled, standings);
  return isOver ? end(settled, { kind: "completed" }, undefined, now) : settled;
}

/** terminating -> terminated: nothing of it runs, and drivers know that its claims are in use no more. */
function terminated(record: PodRecord): PodRecord {
  const { life, observed } = record;
  if (life.kind !== "terminating" || livingContainers(observed).length > 0) return record;
  if (!isAbsent(record, "claims")) return record;
  const lastPlan = { ...record.lastPlan, waits: {}, standing: [] };
  return { ...record, life: { kind: "terminated", cause: life.cause }, lastPlan };
}

/** terminated -> released: no source names it, and nothing of it is left. */
function released(record: PodRecord): PodRecord {
  const isGone = record.life.kind === "terminated" && record.desired.removed && nothingLeft(record);
  return isGone ? { ...record, life: { kind: "released" } } : record;
}

/** Whether nothing of the pod is left in the runtime or, as far as we know, on the machine. */
function nothingLeft(record: PodRecord): boolean {
  const { sandboxes, containers } = record.observed;
  return sandboxes.length === 0 && containers.length === 0 && isNothingPrepared(record);
}

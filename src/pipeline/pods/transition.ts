// pure

import type { Observation } from "../../api/observation.ts";
import { allocationOf, withAllocation } from "../../api/pod/allocation.ts";
import { graceSecondsOf } from "../../api/pod/pod.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { after } from "../../kit/instant.ts";
import { lostSince } from "./lost-containers.ts";
import { livingContainers, nothingLeft } from "./observed.ts";
import { isFinished } from "./phase.ts";
import { isResizing } from "./plan/plan-resize.ts";
import { cannotGoOn } from "./plan/plan-sandbox.ts";
import { findSpecContainer } from "./plan/restart.ts";
import { inRounds } from "./plan/rounds.ts";
import {
  type PodLife,
  type PodRecord,
  type Prerequisites,
  type ProbeVerdicts,
  STEP_RESIZE,
  type StepFailure,
  type TerminationCause,
} from "./record.ts";
import { requestedResize } from "./resize/resize-state.ts";
import type { PodSignal } from "./signals.ts";

type Signal<K extends PodSignal["kind"]> = Extract<PodSignal, { kind: K }>;

/** One turn of a pod: take in one signal, then move life forward as far as the facts allow. */
export function transition(record: PodRecord, signal: PodSignal, now: MonotonicMs): PodRecord {
  return advance(absorb(record, signal, now), now);
}

/** Applies the signal to the record. Moves life only where the signal itself asks for it. */
function absorb(record: PodRecord, signal: PodSignal, now: MonotonicMs): PodRecord {
  switch (signal.kind) {
    case "desired":
      return endWhenDeleted(desire(record, signal), now);
    case "removed":
      return end({ ...record, removal: true }, { kind: "deleted" }, signal.graceSeconds, now);
    case "admitted":
      return admit(record);
    case "deferred":
      return record.life.kind === "waiting" ? { ...record, admission: signal } : record;
    case "rejected":
      return reject(record, signal, now);
    case "resized":
      return resized(record, signal);
    case "resizePending":
      return record.resize.requested
        ? { ...record, resize: { ...record.resize, pending: signal.pending } }
        : record;
    case "terminate":
      return end(record, signal.cause, signal.graceSeconds, now);
    case "observed":
      return observe(record, signal.observed);
    case "unobserved":
      return unobserved(record, signal);
    case "acting":
      return begin(record, signal);
    case "acted":
      return finish(record, signal);
    case "probed":
      return probed(record, signal);
    case "progress":
      return progressed(record, signal);
    case "clear":
      return record.life.kind === "terminated" ? { ...record, cleared: true } : record;
    case "tick":
      return record;
    default:
      return signal satisfies never;
  }
}

/** What the source wants now, with the resources that the pod was given. */
function desire(record: PodRecord, { pod: desired }: Signal<"desired">): PodRecord {
  const pod = withAllocation(desired, allocationOf(record.pod));
  const stepFailures = withoutOldImages(record, desired);
  const requested = requestedResize(pod, desired);
  const { pending: _, requested: __, ...done } = record.resize;
  const resize = requested ? { ...record.resize, requested } : done;
  return { ...record, pod, desired, stepFailures, resize };
}

/** What went wrong with another image than the one that is wanted now holds nothing back. */
function withoutOldImages(
  { pod, stepFailures }: PodRecord,
  desired: IdentifiedPod,
): PodRecord["stepFailures"] {
  const imageIn = (of: IdentifiedPod, name: string) => findSpecContainer(of, name)?.container.image;
  const isOld = (step: string) => imageIn(pod, step) !== imageIn(desired, step);
  if (!Object.keys(stepFailures).some(isOld)) return stepFailures;
  return Object.fromEntries(Object.entries(stepFailures).filter(([step]) => !isOld(step)));
}

function resized(
  record: PodRecord,
  { allocation, generation, actuated }: Signal<"resized">,
): PodRecord {
  const { [STEP_RESIZE]: _, ...stepFailures } = record.stepFailures;
  const pod = withAllocation(record.desired, allocation);
  const requested = requestedResize(pod, record.desired);
  const resize = { actuated, inProgress: { generation }, ...(requested ? { requested } : {}) };
  return { ...record, pod, stepFailures, resize };
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
  switch (life.kind) {
    case "waiting":
    case "running": {
      const seconds = Math.max(1, graceSeconds ?? graceSecondsOf(record.pod));
      return {
        ...record,
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
      if (killBy >= life.killBy) return record;
      return {
        ...record,
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
  const fresh = record.freshness !== "acting" && observed.asOf >= record.actedAt;
  return {
    ...record,
    ...withReplaced(inRounds(record.pod, observed), record.replaced),
    lost: lostSince(record, observed),
    degraded: undefined,
    freshness: record.freshness === "acting" ? "acting" : fresh ? "fresh" : "stale",
  };
}

/** What was last seen may be wrong by now: until the pod can be observed nothing is planned on it. */
function unobserved(record: PodRecord, { asOf, problem }: Signal<"unobserved">): PodRecord {
  if (asOf < record.observed.asOf) return record;
  return {
    ...record,
    degraded: problem ?? record.degraded,
    freshness: record.freshness === "acting" ? "acting" : "stale",
  };
}

/** Marks the attempts that were stopped to be started again; those that are gone are forgotten. */
function withReplaced(
  observed: Observation,
  ids: readonly string[],
): Pick<PodRecord, "observed" | "replaced"> {
  if (ids.length === 0) return { observed, replaced: ids };
  const containers = observed.containers.map((attempt) =>
    ids.includes(attempt.id) ? { ...attempt, replaced: true as const } : attempt,
  );
  const here = new Set(containers.map(({ id }) => id));
  return { observed: { ...observed, containers }, replaced: ids.filter((id) => here.has(id)) };
}

function begin(record: PodRecord, { backoff, touches, replaces }: Signal<"acting">): PodRecord {
  const prerequisites = { ...record.prerequisites } as {
    -readonly [K in keyof Prerequisites]: Prerequisites[K];
  };
  for (const part of touches) if (prerequisites[part] === "absent") prerequisites[part] = "unknown";
  return {
    ...record,
    freshness: "acting",
    prerequisites,
    backoff: { ...record.backoff, ...backoff },
    replaced: [...new Set([...record.replaced, ...replaces])],
  };
}

function finish(record: PodRecord, { results, at, actuated }: Signal<"acted">): PodRecord {
  const stepFailures: Record<string, StepFailure> = { ...record.stepFailures };
  const prerequisites = { ...record.prerequisites } as {
    -readonly [K in keyof Prerequisites]: Prerequisites[K];
  };
  for (const { step, outcome, prerequisite } of results) {
    if (prerequisite) prerequisites[prerequisite.part] = prerequisite.now;
    if (outcome.kind === "done") delete stepFailures[step];
    else if (outcome.kind === "failed") {
      const { reason, message, retryInMs } = outcome;
      stepFailures[step] = {
        reason,
        message,
        failures: (stepFailures[step]?.failures ?? 0) + 1,
        notBefore: after(at, retryInMs),
      };
    }
  }
  const resize = { ...record.resize, actuated };
  return {
    ...record,
    freshness: "stale",
    actedAt: at,
    stepFailures,
    prerequisites,
    resize,
    progress: {},
  };
}

function probed(
  record: PodRecord,
  { container, containerId, probe, result }: Signal<"probed">,
): PodRecord {
  const kept = record.probes[container];
  const verdicts: ProbeVerdicts =
    kept?.containerId === containerId
      ? { ...kept, [probe]: result }
      : { containerId, [probe]: result };
  return { ...record, probes: { ...record.probes, [container]: verdicts } };
}

/** A change in place that has been carried out. */
function settled(record: PodRecord): PodRecord {
  const { inProgress: _, ...resize } = record.resize;
  return { ...record, resize };
}

/** Progress belongs to the run of actions that makes it. */
function progressed(record: PodRecord, { container, message }: Signal<"progress">): PodRecord {
  if (record.freshness !== "acting" || record.progress[container] === message) return record;
  const { [container]: _, ...others } = record.progress;
  return {
    ...record,
    progress: message === undefined ? others : { ...others, [container]: message },
  };
}

/**
 * The steps forward that facts alone allow. Without a fresh observation none is taken: what seems not
 * to run may just have been started.
 */
function advance(record: PodRecord, now: MonotonicMs): PodRecord {
  if (record.freshness !== "fresh") return record;
  const { life } = record;
  if (life.kind === "running") {
    if (record.resize.inProgress && !isResizing(record)) return advance(settled(record), now);
    if (!isFinished(record) && !cannotGoOn(record)) return record;
    return advance(end(record, { kind: "completed" }, undefined, now), now);
  }
  if (life.kind === "terminating" && livingContainers(record.observed).length === 0) {
    return advance(
      { ...record, life: { kind: "terminated", cause: life.cause }, waits: {}, standing: [] },
      now,
    );
  }
  if (life.kind === "terminated" && record.removal && nothingLeft(record)) {
    const released: PodLife = { kind: "released" };
    return { ...record, life: released };
  }
  return record;
}

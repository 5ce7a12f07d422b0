// pure
/** Events of a pod that no plan caused: exits of containers, and requests to end the pod. */
import { type Decision, makeDecision } from "../../../api/decisions.ts";
import type { Pod } from "../../../api/generated/types.ts";
import type { Observation, ObservedContainer } from "../../../api/observation.ts";
import { findContainer } from "../../../api/pod/pod.ts";
import type { WallMs } from "../../../kit/clock.ts";
import type { LimitHits } from "../ports.ts";
import { derivePhase } from "../record/phase.ts";
import type { PodOrigin, PodRecord } from "../record/record.ts";

/** Something that happened, and when. */
interface UnplannedFact {
  readonly decision: Decision;
  readonly atMs: WallMs | undefined;
}

/** Longest part of a termination message that is kept with the decision. */
const MAX_MESSAGE = 300;

/** The pod as it is now, and what the kernel counts of its memory limit since exits were last reported. */
interface HistoryNow {
  readonly record: Pick<PodRecord, "pod" | "observed">;
  /** Asked only where containers were OOM-killed. */
  readonly limitHits: () => LimitHits | undefined;
}

/** Containers that are seen ended now and were not before, in the order of their ends. */
export function exitsSince(
  before: Observation,
  { record: { pod, observed }, limitHits }: HistoryNow,
): UnplannedFact[] {
  if (before === observed) return [];
  const known = new Set(before.containers.filter(hasEnded).map(({ id }) => id));
  const ended = observed.containers.filter(
    (attempt) => hasEnded(attempt) && !known.has(attempt.id),
  );
  const kills = ended.filter(({ reason }) => reason === OOM_KILLED).length;
  const reached = kills === 0 ? "unknown" : limitReached(limitHits(), kills);
  return ended
    .map((attempt) => ({ decision: exitOf(pod, attempt, reached), atMs: attempt.finishedAtMs }))
    .sort((a, b) => (a.atMs ?? 0) - (b.atMs ?? 0));
}

const OOM_KILLED = "OOMKilled";

type Reached = "container" | "pod" | "unknown";

/** Which limit caused `kills` OOM kills, judged by how often that of the pod was reached meanwhile. */
function limitReached(hits: LimitHits | undefined, kills: number): Reached {
  if (!hits) return "unknown";
  if (hits.count === 0) return "container";
  return hits.exact && hits.count >= kills ? "pod" : "unknown";
}

/** One that was never started has not ended, whatever the runtime calls it: the record of its start says why. */
function hasEnded({ state, startedAtMs }: ObservedContainer): boolean {
  return state === "exited" && startedAtMs !== undefined;
}

function exitOf(
  pod: Pod,
  { name, restartCount, exitCode, reason, message }: ObservedContainer,
  reached: Reached,
): Decision {
  return makeDecision("containerExited", reason === "" ? "exited" : reason, {
    container: name,
    restartCount,
    exitCode,
    reason,
    ...(message === "" ? {} : { message: message.slice(0, MAX_MESSAGE) }),
    ...(reason === OOM_KILLED ? reachedLimit(pod, name, reached) : {}),
  });
}

/** The memory limit that an OOM-killed container ran into; of two the one that the kernel says, where it does. */
function reachedLimit(
  pod: Pod,
  name: string,
  reached: Reached,
): Pick<Extract<Decision, { kind: "containerExited" }>["inputs"], "limit" | "limitOf"> {
  const own = findContainer(pod, name)?.container.resources?.limits?.["memory"];
  const shared = pod.spec?.resources?.limits?.["memory"];
  if (own === undefined) return shared === undefined ? {} : { limit: shared, limitOf: "pod" };
  if (shared === undefined || reached === "container") return { limit: own, limitOf: "container" };
  if (reached === "pod") return { limit: shared, limitOf: "pod" };
  return { limit: `${own} or ${shared}`, limitOf: "container or pod" };
}

/** That a pod which ran until now has nothing left to run; `undefined` when it has, or is ended otherwise. */
export function completionSince(
  before: PodRecord["life"],
  record: PodRecord,
): Decision | undefined {
  const { life } = record;
  if (before.kind !== "running" || !("cause" in life) || life.cause.kind !== "completed")
    return undefined;
  return makeDecision("completePod", "nothing is to run again", { phase: derivePhase(record) });
}

/** Why a pod that was desired until now is to end, where nothing else has recorded it; `undefined` when it is not to. */
export function deletionSince(
  before: PodRecord["life"],
  { life, pod, desired: { source, removed } }: PodRecord,
): Decision | undefined {
  if (before.kind !== "waiting" && before.kind !== "running") return undefined;
  if (life.kind !== "terminating" || life.cause.kind !== "deleted") return undefined;
  const [rule, reason] =
    source === "api" ? deletedObject(pod, removed) : (SOURCES[source] ?? SOURCES.file);
  return makeDecision("killPod", rule, { graceSeconds: life.graceSeconds, reason });
}

const SOURCES: Readonly<Record<Exclude<PodOrigin, "api">, readonly [string, string]>> = {
  file: ["manifest removed", "its manifest file was removed"],
  http: ["manifest removed", "the URL of manifests no longer lists it"],
  runtime: ["no source names it", "no manifest or API object names it"],
};

/** Texts by the reason of the condition `DisruptionTarget`, which says who had the pod deleted. */
const DISRUPTIONS: Readonly<Record<string, string>> = {
  PreemptionByScheduler: "the scheduler preempted it for a pod of higher priority",
  DeletionByTaintManager: "the node has a taint that the pod does not tolerate",
  EvictionByEvictionAPI: "it was evicted through the API, as by kubectl drain",
  DeletionByPodGC: "its node or owner is gone",
};

function deletedObject({ metadata, status }: Pod, removed: boolean): readonly [string, string] {
  if (metadata?.deletionTimestamp === undefined && removed)
    return ["object removed", "its object was removed from the API without waiting for the node"];
  const disruption = status?.conditions?.find(
    (condition) => condition.type === "DisruptionTarget" && condition.status === "True",
  );
  const known = DISRUPTIONS[disruption?.reason ?? ""];
  return known === undefined
    ? ["deleted", "it was deleted through the API, as by kubectl delete"]
    : [disruption?.reason ?? "", known];
}

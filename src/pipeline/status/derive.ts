// pure
import type { PodCondition, PodStatus } from "../../api/generated/types.ts";
import { sortPodIps, withOtherFamily } from "../../api/node/node-addresses.ts";
import { isEndedByShutdown } from "../../api/node/node-shutdown.ts";
import type { ObservedSandbox } from "../../api/observation.ts";
import { isTerminalPhase, mayRestartAll } from "../../api/pod/pod.ts";
import { qosClassOf } from "../../api/pod/qos.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import { newestSandbox } from "../pods/record/observed.ts";
import { derivePhase, type PodPhase } from "../pods/record/phase.ts";
import type { PodRecord } from "../pods/record/record.ts";
import { isBetweenRounds } from "../pods/record/rounds.ts";
import { sandboxNotReady } from "../pods/record/sandbox.ts";
import { standingsOf } from "../pods/record/standing.ts";
import { type ContainerStatusContext, containerStatuses } from "./container-status.ts";
import {
  type ConditionVerdict,
  isOwnCondition,
  newerConditions,
  podConditions,
} from "./pod-conditions.ts";
import { statusPodResources } from "./pod-resources-status.ts";
import { resizeConditions } from "./resize-status.ts";
import { whenTerminated } from "./when-terminated.ts";

interface StatusContext extends ContainerStatusContext {
  readonly now: WallMs;
  /** Addresses of the node, primary first. */
  readonly hostIps: readonly string[];
  /** False where resources of pods as a whole are not to be shown. */
  readonly showsPodResources?: boolean;
}

/**
 * The status of a pod as the API shows it. What the runtime no longer knows is taken from the status
 * published before; a terminal phase stays (kubelet_pods.go generateAPIPodStatus).
 */
export function deriveStatus(record: PodRecord, context: StatusContext): PodStatus {
  const { previous } = context;
  if (record.sync.freshness === "unobserved" && previous)
    return { ...previous, ...degradedReason(record, previous.phase) };
  const standings = standingsOf(record);
  const phase = stickyPhase(derivePhase(record, standings), previous, record);
  const all = containerStatuses(record, standings, context);
  const { init, regular, ephemeral } =
    record.life.kind === "terminated" ? whenTerminated(standings.init.at(-1)?.kind, all) : all;
  const sandbox = newestSandbox(record.observed);
  const published = publishedConditions(record, previous);
  const hostNetwork = record.pod.spec?.hostNetwork === true;
  const podIps = hostNetwork
    ? hostNetworkIps(sandbox, previous, context.hostIps)
    : sortPodIps(knownIps(sandbox, previous), context.hostIps);
  const verdicts = podConditions({
    pod: record.pod,
    phase,
    init: standings.init,
    initStatuses: init,
    statuses: regular,
    sandboxProblem: sandboxNotReady(record),
    restartingAll: mayRestartAll(record.pod)
      ? isBetweenRounds(record.pod, record.observed)
      : undefined,
    published,
  });
  const disruption = isTerminalPhase(phase) ? shownDisruption(record, previous) : [];
  const generation = observedGeneration(record, previous);
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase,
    conditions: keepTimes(
      [...resizeConditions(record), ...verdicts, ...disruption],
      published,
      context.now,
      generation,
    ),
    ...reasonOf(record, phase, previous),
    ...addresses("host", context.hostIps),
    ...addresses("pod", phase === "Pending" && !sandbox ? [] : podIps),
    startTime: previous?.startTime ?? rfc3339(record.startedAt),
    ...(wasRefused(record, previous)
      ? {}
      : {
          ...(init.length > 0 ? { initContainerStatuses: init } : {}),
          containerStatuses: [...regular].sort(byName),
          ...(ephemeral.length > 0
            ? { ephemeralContainerStatuses: [...ephemeral].sort(byName) }
            : {}),
        }),
    qosClass: qosClassOf(record.pod),
    ...(context.showsPodResources === false ? {} : statusPodResources(record, phase)),
  };
}

/**
 * The generation of the spec that the rest of the status is about: one that asks for other resources counts once it
 * was decided on, or a watcher takes a change in place for done that nobody has begun.
 */
function observedGeneration(
  { desired, resize, life }: PodRecord,
  previous: PodStatus | undefined,
): number | undefined {
  const generation = desired.pod.metadata?.generation;
  const isDecided =
    !resize.requested || resize.pending?.generation === generation || life.kind !== "running";
  return isDecided ? generation : previous?.observedGeneration;
}

/**
 * Our own conditions as we last reported them, or as another agent has since, which had the node meanwhile; those
 * of others as the API has them, where it does.
 */
function publishedConditions(
  record: PodRecord,
  previous: PodStatus | undefined,
): readonly PodCondition[] {
  const {
    desired: { source },
    pod,
  } = record;
  const given = pod.status?.conditions ?? [];
  if (previous?.conditions === undefined) return given;
  // A pod that runs again after a shutdown of the machine is no longer ended by it.
  if (source !== "api")
    return isEndedByShutdown(previous) && disruptionOf(record).length === 0
      ? previous.conditions.filter(({ type }) => type !== "DisruptionTarget")
      : previous.conditions;
  const isOwn = ({ type }: PodCondition) => isOwnCondition(type);
  const own = previous.conditions.filter(isOwn);
  return [...newerConditions(own, given), ...given.filter((each) => !isOwn(each))];
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

/** A phase once terminal is never left; while containers may run it is not published yet. */
function stickyPhase(
  phase: PodPhase,
  previous: PodStatus | undefined,
  record: PodRecord,
): PodPhase {
  if (previous?.phase === "Succeeded") return previous.phase;
  if (previous?.phase === "Failed" && !hasAnotherChance(previous, record)) return previous.phase;
  const terminal = phase === "Succeeded" || phase === "Failed";
  const mayRun = record.life.kind === "running" || record.life.kind === "terminating";
  if (!terminal || !mayRun) return phase;
  return previous?.phase === "Pending" ? "Pending" : "Running";
}

/**
 * A manifest that a previous run of the agent refused is judged again, as the Go kubelet does: nothing of it
 * ever ran, and a static pod has nobody who would make another one. Only refused pods show no containers. What a
 * shutdown of the machine has ended runs again after it.
 */
function hasAnotherChance(previous: PodStatus, { desired, admission }: PodRecord): boolean {
  if (desired.source === "api" || admission.kind === "rejected") return false;
  return previous.containerStatuses === undefined || isEndedByShutdown(previous);
}

/**
 * Whether the pod was refused, which shows no containers: by this agent, or by a previous run of it, which left nothing
 * but the status. A pod of the API has no other chance.
 */
function wasRefused(
  { admission, desired, observed }: PodRecord,
  previous: PodStatus | undefined,
): boolean {
  if (admission.kind === "rejected") return true;
  const isLeftRefused = previous?.phase === "Failed" && previous.containerStatuses === undefined;
  return desired.source === "api" && isLeftRefused && observed.containers.length === 0;
}

/** A dead sandbox has no address any more; the pod keeps showing the one it had. */
function knownIps(
  sandbox: ObservedSandbox | undefined,
  previous: PodStatus | undefined,
): readonly string[] {
  if (sandbox && (sandbox.ready || sandbox.ips.length > 0)) return sandbox.ips;
  return publishedIps(previous);
}

const publishedIps = (status: PodStatus | undefined): readonly string[] =>
  (status?.podIPs ?? []).map(({ ip }) => ip);

/**
 * A pod on the host network has the addresses that the node had when it got them, as its containers know them, and
 * another family once the node has it (kubelet_pods.go generateAPIPodStatus).
 */
function hostNetworkIps(
  sandbox: ObservedSandbox | undefined,
  previous: PodStatus | undefined,
  hostIps: readonly string[],
): readonly string[] {
  const { ips = [] } = sandbox ?? {};
  const had = sortPodIps(ips.length > 0 ? ips : publishedIps(previous), hostIps);
  return had.length === 0 ? sortPodIps(hostIps, hostIps) : withOtherFamily(had, hostIps);
}

function addresses(kind: "host" | "pod", ips: readonly string[]): Partial<PodStatus> {
  const [primary] = ips;
  if (primary === undefined) return {};
  const all = ips.map((ip) => ({ ip }));
  return kind === "host" ? { hostIP: primary, hostIPs: all } : { podIP: primary, podIPs: all };
}

/**
 * Why the pod was refused or is ended by the node, once its phase says that it is over: held back with it. A phase that
 * stays keeps its reason, whoever gave it: a restarted agent knows it from nowhere else.
 */
function reasonOf(
  record: PodRecord,
  phase: PodPhase,
  previous: PodStatus | undefined,
): Pick<PodStatus, "reason" | "message"> {
  const { admission, life } = record;
  const isOver = isTerminalPhase(phase);
  if (isOver && admission.kind === "rejected")
    return { reason: admission.reason, message: admission.message };
  const cause = "cause" in life ? life.cause : undefined;
  if (phase === "Failed" && cause?.kind === "evicted")
    return { reason: cause.reason, message: cause.message };
  const degraded = degradedReason(record, phase);
  if (degraded.reason !== undefined) return degraded;
  const given = record.desired.source === "api" ? record.desired.pod.status : undefined;
  return previous?.phase === phase ? keptReason(previous, given) : {};
}

/** The reason last shown, or set by others; one of an observation that failed is over with that. */
function keptReason(
  previous: PodStatus,
  given: PodStatus | undefined,
): Pick<PodStatus, "reason" | "message"> {
  const own = [previous, given].map((status) =>
    status?.reason === OBSERVATION_FAILED ? undefined : status,
  );
  const reason = own.find((status) => status?.reason)?.reason;
  const message = own.find((status) => status?.message)?.message;
  return { ...(reason ? { reason } : {}), ...(message ? { message } : {}) };
}

const OBSERVATION_FAILED = "ObservationFailed";

/** Shown with what was last known of a pod that cannot be observed: it may be outdated. */
function degradedReason(
  { sync: { degraded } }: PodRecord,
  phase: string | undefined,
): Pick<PodStatus, "reason" | "message"> {
  if (degraded === undefined || isTerminalPhase(phase ?? "")) return {};
  return { reason: OBSERVATION_FAILED, message: `error determining status: ${degraded}` };
}

/** Reported together with the end, so that it does not count as the pod's own failure (KEP-3329). */
function disruptionOf({ life }: PodRecord): readonly ConditionVerdict[] {
  const cause = "cause" in life ? life.cause : undefined;
  if (cause?.kind !== "evicted" || cause.disruption === undefined) return [];
  const message = cause.disruption;
  return [{ type: "DisruptionTarget", status: "True", reason: BY_KUBELET, message }];
}

/** Reason of the condition DisruptionTarget where the node ends the pod (KEP-3329). */
const BY_KUBELET = "TerminationByKubelet";

/**
 * That of the record, or of a pod that has ended the one of its last status: after a restart of the agent the record has
 * it only when the end is begun again, and the API may have none yet.
 */
function shownDisruption(
  record: PodRecord,
  previous: PodStatus | undefined,
): readonly ConditionVerdict[] {
  const own = disruptionOf(record);
  if (own.length > 0 || !isTerminalPhase(previous?.phase)) return own;
  return (previous?.conditions ?? []).flatMap(({ type, status, reason, message }) =>
    type === "DisruptionTarget" && status === "True" && reason === BY_KUBELET
      ? [{ type, status, reason, message: message ?? "" }]
      : [],
  );
}

/** Times of conditions: the transition time moves only with the status. Conditions of others stay. */
function keepTimes(
  verdicts: readonly ConditionVerdict[],
  published: readonly PodCondition[],
  now: WallMs,
  generation: number | undefined,
): readonly PodCondition[] {
  const owned = verdicts.map((verdict): PodCondition => {
    const before = published.find(({ type }) => type === verdict.type);
    const lastTransitionTime =
      before?.status === verdict.status && before.lastTransitionTime !== undefined
        ? before.lastTransitionTime
        : rfc3339(now);
    return {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...verdict,
      lastTransitionTime,
    };
  });
  const given = new Set(verdicts.map(({ type }) => type));
  const foreign = published.filter(({ type }) => !isOwnCondition(type) && !given.has(type));
  return [...owned, ...foreign];
}

// pure
import type {
  Container,
  ContainerState,
  ContainerStateTerminated,
  ContainerStateWaiting,
  ContainerStatus,
  PodStatus,
  ResourceStatus,
  VolumeMount,
  VolumeMountStatus,
} from "../../api/generated/types.ts";
import type { ObservedContainer } from "../../api/observation.ts";
import { resolveRecursiveReadOnly } from "../../api/pod/recursive-read-only.ts";
import { byteLength, cutToBytes } from "../../api/text/names.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { PodRecord, Wait } from "../pods/record/record.ts";
import { EXIT_CODE_UNKNOWN } from "../pods/record/restart.ts";
import {
  type ContainerStanding,
  hasRegularAttempt,
  type PodStandings,
} from "../pods/record/standing.ts";
import { containerResources } from "./resize-status.ts";
import { NEVER_SEEN_TO_END, type PodContainerStatuses } from "./when-terminated.ts";

/** Inputs of a container status beside the record. */
export interface ContainerStatusContext {
  /** The status as last published; carries what the runtime no longer knows. */
  readonly previous: PodStatus | undefined;
  /** Name of the runtime, the scheme of container IDs. */
  readonly runtimeName: string;
  /** Devices of a container with their health; `undefined` when it has none. */
  readonly devices?: (container: string) => readonly ResourceStatus[] | undefined;
  /** Whether the pod's runtime can mount trees read-only; `undefined` while that is not known. */
  readonly recursiveReadOnly?: () => boolean | undefined;
}

/** The statuses of all containers, in spec order (kubelet_pods.go convertToAPIContainerStatuses). */
export function containerStatuses(
  record: PodRecord,
  standings: PodStandings,
  context: ContainerStatusContext,
): PodContainerStatuses {
  const { init, regular, ephemeral } = standings;
  const messageBytes = Math.floor(
    POD_MESSAGE_BYTES / Math.max(1, init.length + regular.length + ephemeral.length),
  );
  const initialized = hasRegularAttempt(standings);
  const of = (standing: ContainerStanding): ContainerStatus => {
    const full = containerStatus(record, { standing, initialized }, context);
    const { allocatedResourcesStatus: _, ...short } = withShortMessages(full, messageBytes);
    const bare = { ...short, ...volumeMountsOf(standing.container, context) };
    if (standing.kind === "ephemeral") return ephemeralStatus(bare);
    const status = { ...bare, ...containerResources(record, standing) };
    const devices = context.devices?.(standing.container.name);
    return devices ? { ...status, allocatedResourcesStatus: devices } : status;
  };
  return { init: init.map(of), regular: regular.map(of), ephemeral: ephemeral.map(of) };
}

/** How volumes are mounted; shown once, it never changes (kubelet_pods.go convertToAPIContainerStatuses). */
function volumeMountsOf(
  { name, volumeMounts = [] }: Container,
  { previous, recursiveReadOnly }: ContainerStatusContext,
): Pick<ContainerStatus, "volumeMounts"> {
  const before = previousStatus(previous, name)?.volumeMounts;
  if (before || volumeMounts.length === 0) return before ? { volumeMounts: before } : {};
  const supported = recursiveReadOnly?.();
  if (supported === undefined) return {};
  return { volumeMounts: volumeMounts.map((mount) => mountStatus(mount, supported)) };
}

function mountStatus(mount: VolumeMount, supported: boolean): VolumeMountStatus {
  const { name, mountPath, readOnly } = mount;
  if (readOnly !== true) return { name, mountPath };
  const resolved = resolveRecursiveReadOnly(mount, supported);
  const isEnabled = resolved.kind === "resolved" && resolved.enabled;
  return { name, mountPath, readOnly, recursiveReadOnly: isEnabled ? "Enabled" : "Disabled" };
}

/** Limit of all termination messages of a pod, divided evenly (status_manager.go normalizeStatus). */
const POD_MESSAGE_BYTES = 12 * 1024;

function withShortMessages(status: ContainerStatus, maxBytes: number): ContainerStatus {
  const short = (state: ContainerState | undefined) => {
    const message = state?.terminated?.message;
    if (!state?.terminated || message === undefined || byteLength(message) <= maxBytes)
      return state;
    return { terminated: { ...state.terminated, message: cutToBytes(message, maxBytes) } };
  };
  const [state, lastState] = [short(status.state), short(status.lastState)];
  if (state === status.state && lastState === status.lastState) return status;
  return { ...status, ...(state ? { state } : {}), ...(lastState ? { lastState } : {}) };
}

/** Ephemeral containers do not count as started or ready. */
function ephemeralStatus({ started: _, ...status }: ContainerStatus): ContainerStatus {
  return { ...status, ready: false };
}

/** A container of a pod that may be initialized: a regular container has an attempt. */
interface PlacedStanding {
  readonly standing: ContainerStanding;
  readonly initialized: boolean;
}

function containerStatus(
  record: PodRecord,
  placed: PlacedStanding,
  context: ContainerStatusContext,
): ContainerStatus {
  const { container, started, ready } = placed.standing;
  const before = previousStatus(context.previous, container.name);
  const [latest, ...older] = shownAttempts(record, placed.standing, before);
  if (!latest) return withoutAttempt(record, placed, before);
  const state = stateOf(latest, context.runtimeName);
  const lastEnded = older.find(({ state: old }) => old === "exited");
  const lastState: ContainerState = lastEnded
    ? { terminated: terminatedOf(lastEnded, context.runtimeName) }
    : lastStateBefore(before, latest);
  const shown = waitingInstead(record, placed.standing, { latest, state, lastState });
  return {
    name: container.name,
    image: latest.image,
    imageID: latest.imageRef,
    containerID: `${context.runtimeName}://${latest.id}`,
    restartCount: restartCountOf(latest, before),
    ready,
    started,
    ...stopSignalOf(container, latest),
    ...(latest.user ? { user: { linux: latest.user } } : {}),
    ...shown,
  };
}

/**
 * The attempts that the status shows, newest first: without one that was created and is being started. If it fails to
 * start it is shown, with the reason (the Go kubelet derives no status while it starts a container).
 */
function shownAttempts(
  { sync: { freshness } }: PodRecord,
  { attempts }: ContainerStanding,
  before: ContainerStatus | undefined,
): readonly ObservedContainer[] {
  const [newest] = attempts;
  const isBeingStarted =
    freshness === "acting" && newest?.state === "created" && !isOf(before?.containerID, newest.id);
  return isBeingStarted ? attempts.slice(1) : attempts;
}

/**
 * The published count where it is higher: the runtime may have lost the attempts before this one. One that began after an
 * end that was published is counted on (kubelet_pods.go convertToAPIContainerStatuses).
 */
function restartCountOf(
  { state, restartCount, id }: ObservedContainer,
  before: ContainerStatus | undefined,
): number {
  const published = before?.restartCount ?? 0;
  const isNext =
    state === "running" &&
    before?.state?.terminated !== undefined &&
    !isOf(before.containerID, id) &&
    published >= restartCount;
  return isNext ? published + 1 : Math.max(published, restartCount);
}

const isOf = (containerId: string | undefined, id: string): boolean =>
  containerId?.endsWith(`//${id}`) ?? false;

/**
 * The published end of the attempt before, or the published last state, unless it is that of `latest` itself, which was
 * published while it waited to restart.
 */
function lastStateBefore(
  before: ContainerStatus | undefined,
  latest: ObservedContainer,
): ContainerState {
  if (before?.state?.terminated && !isOf(before.containerID, latest.id))
    return { terminated: before.state.terminated };
  const known = before?.lastState ?? {};
  return isOf(known.terminated?.containerID, latest.id) ? {} : known;
}

/** Shown of containers that ask for a signal: an API server that knows the field has let them. */
function stopSignalOf(
  { lifecycle }: Container,
  { stopSignal }: ObservedContainer,
): Pick<ContainerStatus, "stopSignal"> {
  return lifecycle?.stopSignal !== undefined && stopSignal !== undefined ? { stopSignal } : {};
}

function previousStatus(status: PodStatus | undefined, name: string): ContainerStatus | undefined {
  return [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ].find((known) => known.name === name);
}

/** A container that the runtime does not have: not made yet, or lost. */
function withoutAttempt(
  record: PodRecord,
  { standing: { container, kind }, initialized }: PlacedStanding,
  before: ContainerStatus | undefined,
): ContainerStatus {
  const base = {
    name: container.name,
    image: container.image ?? "",
    imageID: "",
    ready: false,
    started: false,
  };
  // It is removed eventually, and without its success the others would not exist.
  const isDone = kind === "init" && initialized;
  if (before?.state?.terminated) {
    const { terminated } = before.state;
    return {
      ...before,
      ...(isDone ? { state: { terminated: withNormalExit(terminated) } } : {}),
      ready: kind === "init" && before.ready,
      started: false,
    };
  }
  const restartCount = before?.restartCount ?? 0;
  if (isDone)
    return {
      ...base,
      restartCount,
      ready: true,
      state: { terminated: EXITED_NORMALLY },
      lastState: before?.lastState ?? {},
    };
  if (before?.state?.running) {
    const lost: ContainerStateTerminated = {
      reason: "ContainerStatusUnknown",
      message:
        "The container could not be located when the pod was deleted.  The container used to be Running",
      exitCode: EXIT_CODE_UNKNOWN,
    };
    const lastState = { terminated: lost };
    const counted = record.life.kind === "running" ? restartCount + 1 : restartCount;
    return {
      ...base,
      restartCount: counted,
      state: { waiting: waitingOf(record, container) },
      lastState,
    };
  }
  const lastState = before?.lastState ?? {};
  return { ...base, restartCount, state: { waiting: waitingOf(record, container) }, lastState };
}

const EXITED_NORMALLY: ContainerStateTerminated = {
  reason: "Completed",
  message:
    "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
  exitCode: 0,
};

/** The kept end of an init container that did its work, with the message that it is no longer to be seen. */
function withNormalExit(terminated: ContainerStateTerminated): ContainerStateTerminated {
  const isSilent = terminated.exitCode === 0 && (terminated.message ?? "") === "";
  return isSilent ? { ...terminated, message: EXITED_NORMALLY.message ?? "" } : terminated;
}

function waitingOf(record: PodRecord, container: Container): { reason: string; message?: string } {
  const { admission } = record;
  if (admission.kind === "deferred")
    return { reason: admission.reason, message: admission.message };
  const why = waitOf(record, container);
  if (why && why.reason !== "") return { reason: why.reason, message: why.message };
  const hasInit = (record.pod.spec?.initContainers ?? []).length > 0;
  const message = record.lastPlan.progress[container.name];
  return {
    reason: hasInit ? "PodInitializing" : "ContainerCreating",
    ...(message === undefined ? {} : { message }),
  };
}

/** Why it does not run yet, or did not until it was tried again. */
function waitOf(
  { lastPlan: { waits, earlierWaits }, retries }: PodRecord,
  { name }: Container,
): Wait | undefined {
  return waits[name] ?? earlierWaits?.[name] ?? retries.failures[name];
}

function stateOf(attempt: ObservedContainer, runtimeName: string): ContainerState {
  switch (attempt.state) {
    case "created":
      return { waiting: {} };
    case "running":
      return {
        running:
          attempt.startedAtMs === undefined ? {} : { startedAt: rfc3339(attempt.startedAtMs) },
      };
    case "exited":
      return { terminated: terminatedOf(attempt, runtimeName) };
    case "unknown":
      return { terminated: NEVER_SEEN_TO_END };
    default:
      return attempt.state satisfies never;
  }
}

function terminatedOf(attempt: ObservedContainer, runtimeName: string): ContainerStateTerminated {
  return {
    exitCode: attempt.exitCode,
    reason: attempt.reason,
    ...(attempt.message === "" ? {} : { message: attempt.message }),
    ...(attempt.startedAtMs === undefined ? {} : { startedAt: rfc3339(attempt.startedAtMs) }),
    ...(attempt.finishedAtMs === undefined ? {} : { finishedAt: rfc3339(attempt.finishedAtMs) }),
    containerID: `${runtimeName}://${attempt.id}`,
  };
}

interface ShownState {
  readonly state: ContainerState;
  readonly lastState: ContainerState;
}

/** An ended container that is to run again shows why it does not yet, once there is a reason. */
function waitingInstead(
  record: PodRecord,
  standing: ContainerStanding,
  as: ShownState & { readonly latest: ObservedContainer },
): ShownState {
  const { latest, state, lastState } = as;
  const isDown = latest.state === "created" || latest.state === "exited";
  const mayRun = record.life.kind === "running" && standing.restart?.restart !== false;
  const waiting = isDown && mayRun ? waitingAgain(record, standing.container, latest) : undefined;
  if (!waiting) return { state, lastState };
  return { state: { waiting }, lastState: state.terminated ? state : lastState };
}

/**
 * Waiting state of a container that is to run again. One that the agent stopped to restart it is waiting from then
 * on: were it shown as terminated in between, the API would not let it run again under Never or OnFailure.
 */
function waitingAgain(
  record: PodRecord,
  container: Container,
  latest: ObservedContainer,
): ContainerStateWaiting | undefined {
  const why = waitOf(record, container);
  if (why && why.reason !== "") return { reason: why.reason, message: why.message };
  if (latest.outdated) return { reason: "RestartingAllContainers" };
  if (!latest.replaced) return undefined;
  const message = record.lastPlan.progress[container.name];
  return { reason: "ContainerCreating", ...(message === undefined ? {} : { message }) };
}

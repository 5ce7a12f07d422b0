// pure
import type { Container } from "../../api/generated/types.ts";
import type { ObservedContainer, ObservedSandbox } from "../../api/observation.ts";
import { asPodUid, type IdentifiedPod, type PodUid } from "../../api/pod-identity.ts";
import type { WallMs } from "../../kit/clock.ts";
import type {
  ContainerStatus,
  Container as ListedContainer,
  PodSandbox,
  PodSandboxStatus,
} from "../../outside/cri/cri.ts";
import { ContainerState, NamespaceMode, PodSandboxState } from "../../outside/cri/generated/api.ts";
import {
  CONTAINER_DEVICES,
  CONTAINER_HASH,
  CONTAINER_PORTS,
  CONTAINER_RESTART_COUNT,
  CONTAINER_ROUND,
  POD_NAME,
  POD_NAMESPACE,
  POD_TERMINATION_GRACE,
  POD_UID,
  PRE_STOP_HANDLER,
} from "./labels.ts";
import { signalName } from "./stop-signal.ts";

const NANOS_PER_MS = 1_000_000n;

/** CRI time (nanoseconds since the epoch, 0 for never) in milliseconds. */
function wallOf(nanos: bigint): WallMs {
  return Number(nanos / NANOS_PER_MS) as WallMs;
}

function wallOrNever(nanos: bigint): WallMs | undefined {
  return nanos > 0n ? wallOf(nanos) : undefined;
}

/** A sandbox from its listing and its status; `wasStopped` when the agent has stopped it. */
export function readSandbox(
  listed: PodSandbox,
  status: PodSandboxStatus,
  wasStopped: boolean,
): ObservedSandbox {
  const { network } = status;
  const ips = network?.ip ? [network.ip, ...network.additionalIps.map(({ ip }) => ip)] : [];
  const ready = listed.state === PodSandboxState.SANDBOX_READY;
  const hostNetwork = status.linux?.namespaces?.options?.network === NamespaceMode.NODE;
  return {
    id: listed.id,
    attempt: listed.metadata?.attempt ?? 0,
    ready,
    createdAtMs: wallOf(listed.createdAt),
    ips,
    hostNetwork,
    // Runtimes show an address for as long as they keep the network.
    stopped: !ready && (wasStopped || (!hostNetwork && ips.length === 0)),
  };
}

const STATES: Readonly<Record<number, ObservedContainer["state"]>> = {
  [ContainerState.CONTAINER_CREATED]: "created",
  [ContainerState.CONTAINER_RUNNING]: "running",
  [ContainerState.CONTAINER_EXITED]: "exited",
  [ContainerState.CONTAINER_UNKNOWN]: "unknown",
};

/** Containerd's message of a container whose start was cancelled before the program was run. */
const GIVEN_UP = /^failed to create containerd task: .*context canceled(: unknown)?$/;

/** An agent that is killed while it starts a container must not fail the pod: the container was only made. */
function stateOf({
  state,
  reason,
  startedAt,
  message,
}: ContainerStatus): ObservedContainer["state"] {
  const wasGivenUp = reason === "StartError" && startedAt === 0n && GIVEN_UP.test(message);
  return wasGivenUp ? "created" : (STATES[state] ?? "unknown");
}

/** `message` is the termination message where one was read, else the runtime's own. */
export function readContainer(
  sandboxId: string,
  status: ContainerStatus,
  message: string,
): ObservedContainer {
  const restartCount = Number.parseInt(status.annotations[CONTAINER_RESTART_COUNT] ?? "", 10);
  const devices = status.annotations[CONTAINER_DEVICES];
  const round = Number.parseInt(status.annotations[CONTAINER_ROUND] ?? "", 10);
  const stopSignal = signalName(status.stopSignal);
  return {
    id: status.id,
    name: status.metadata?.name ?? "",
    sandboxId,
    state: stateOf(status),
    restartCount: Number.isSafeInteger(restartCount)
      ? restartCount
      : (status.metadata?.attempt ?? 0),
    hash: status.annotations[CONTAINER_HASH] ?? "",
    image: status.image?.userSpecifiedImage || status.image?.image || "",
    imageRef: status.imageRef,
    imageId: status.imageId || status.imageRef,
    createdAtMs: wallOf(status.createdAt),
    startedAtMs: wallOrNever(status.startedAt),
    finishedAtMs:
      status.state === ContainerState.CONTAINER_EXITED ? wallOrNever(status.finishedAt) : undefined,
    exitCode: status.exitCode,
    reason: status.reason,
    message,
    ...userOf(status),
    ...(devices === undefined ? {} : { devices }),
    ...(round > 0 ? { round } : {}),
    ...(stopSignal === undefined ? {} : { stopSignal }),
  };
}

/** Runtimes without it report nothing. */
function userOf({ user }: ContainerStatus): Pick<ObservedContainer, "user"> {
  const linux = user?.linux;
  if (!linux) return {};
  const [uid, gid] = [Number(linux.uid), Number(linux.gid)];
  return { user: { uid, gid, supplementalGroups: linux.supplementalGroups.map(Number) } };
}

/**
 * A pod whose spec is gone, restored from labels and annotations: enough to name it, run its pre-stop
 * hooks and give it its grace (kuberuntime restoreSpecsFromContainerLabels).
 */
export function podFromLabels(
  sandboxes: readonly PodSandbox[],
  containers: readonly ListedContainer[],
): IdentifiedPod {
  const labels = sandboxes[0]?.labels ?? containers[0]?.labels ?? {};
  const graces = containers.map(({ annotations }) =>
    Number.parseInt(annotations[POD_TERMINATION_GRACE] ?? "", 10),
  );
  const grace = graces.find(Number.isSafeInteger);
  const names = [...new Set(containers.map(({ metadata }) => metadata?.name ?? ""))].filter(
    (name) => name !== "",
  );
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: labels[POD_NAME] ?? "",
      namespace: labels[POD_NAMESPACE] ?? "",
      uid: asPodUid(labels[POD_UID]) ?? ("" as PodUid),
      annotations: { ...sandboxes[0]?.annotations },
    },
    spec: {
      containers: names.map((name) => containerFromLabels(name, containers)),
      ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }),
    },
  };
}

function containerFromLabels(name: string, containers: readonly ListedContainer[]): Container {
  const status = containers.find(({ metadata }) => metadata?.name === name);
  const preStop = parseJson(status?.annotations[PRE_STOP_HANDLER]);
  const ports = parseJson(status?.annotations[CONTAINER_PORTS]);
  return {
    name,
    image: status?.image?.userSpecifiedImage || status?.image?.image || "",
    ...(Array.isArray(ports) ? { ports } : {}),
    ...(preStop ? { lifecycle: { preStop } } : {}),
  };
}

/** The annotation was written by an agent, yet a runtime's store may hold anything. */
function parseJson(text: string | undefined): Record<string, never> | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null
      ? (value as Record<string, never>)
      : undefined;
  } catch {
    return undefined;
  }
}

// What the fake runtime holds, and how CRI shows it.
import { OutsideError } from "../../src/kit/errors.ts";
import type {
  ContainerConfig,
  DeepPartial,
  PodSandboxConfig,
  RuntimeService,
} from "../../src/outside/cri/cri.ts";
import {
  Container,
  ContainerState,
  ContainerStats,
  ContainerStatus,
  type LinuxContainerResources,
  NamespaceMode,
  PodSandbox,
  PodSandboxState,
  PodSandboxStatus,
  Signal,
  StatusResponse,
} from "../../src/outside/cri/generated/api.ts";
import { GrpcError } from "../../src/outside/grpc/grpc.ts";
import type { Program } from "./programs.ts";

/** Knobs of the fake; all of them may be turned while it runs. */
export interface FakeRuntimeOptions {
  /** Longest time a call takes; each takes a random share of it. */
  latencyMs: number;
  /** Probability that a call fails without having done anything. */
  faults: number;
  /** Probability that a call does its work and then fails all the same. */
  lateFaults: number;
  /** Probability that an event is not delivered. */
  eventLoss: number;
  /** Whether there is an event stream at all. */
  events: boolean;
  networkReady: boolean;
  /** Whether the runtime says of itself that it is ready. */
  runtimeReady: boolean;
  /** Exit code of every command in a container; 0: its own. */
  commandFault: number;
  /** Whether pods in the node's network can have users of their own. */
  userNamespacesHostNetwork: boolean;
  /** Whether mounts may have options that a pod says. */
  mountOptions: boolean;
  /** What becomes of resources of a sandbox: the method is not known, only a stub, or there. */
  sandboxResources: "unknown" | "stub" | "taken";
}

/** Everything at once, no faults. */
export const CALM: FakeRuntimeOptions = {
  latencyMs: 0,
  faults: 0,
  lateFaults: 0,
  eventLoss: 0,
  events: true,
  networkReady: true,
  runtimeReady: true,
  commandFault: 0,
  userNamespacesHostNetwork: false,
  mountOptions: false,
  sandboxResources: "unknown",
};

export interface FakeSandbox {
  readonly id: string;
  readonly config: DeepPartial<PodSandboxConfig>;
  readonly createdAt: bigint;
  readonly ip: string;
  readonly handler: string;
  ready: boolean;
  /** Address and namespace are there until the sandbox is stopped, whether it lives or not. */
  networkHeld: boolean;
}

export interface FakeContainer {
  readonly id: string;
  readonly sandboxId: string;
  config: DeepPartial<ContainerConfig>;
  readonly createdAt: bigint;
  readonly program: Program | undefined;
  state: "created" | "running" | "exited";
  startedAt: bigint;
  finishedAt: bigint;
  exitCode: number;
  reason: string;
  cancelExit: (() => void) | undefined;
}

/** UpdatePodSandboxResources, as containerd 2.1, 2.2 and 2.3 have it. */
export const sums =
  ({ sandboxResources }: FakeRuntimeOptions) =>
  (): void => {
    if (sandboxResources === "taken") return;
    if (sandboxResources === "stub") throw new GrpcError(2, "not implemented yet");
    throw new OutsideError("unimplemented", "unknown method UpdatePodSandboxResources");
  };

/** The calls of CRI that hand over to a streaming server, or touch one container from outside. */
export type StreamCalls = Pick<
  RuntimeService,
  "execSync" | "exec" | "attach" | "portForward" | "reopenLog"
>;

/** There is no streaming server. */
export function noStreaming(): never {
  throw new OutsideError("unimplemented", "the fake runtime has no streaming server");
}

/** The calls of CRI that are about the node. */
export type NodeCalls = Pick<
  RuntimeService,
  "version" | "status" | "runtimeConfig" | "updateRuntimeConfig" | "events"
>;

/** The calls of CRI that are about containers. */
export type ContainerCalls = Pick<
  RuntimeService,
  | "listContainers"
  | "containerStatus"
  | "listContainerStats"
  | "createContainer"
  | "startContainer"
  | "stopContainer"
  | "removeContainer"
  | "updateContainer"
>;

/** Changes what a container may use; what is 0 or empty stays as it is. */
export function updateResources(
  container: FakeContainer,
  resources: DeepPartial<LinuxContainerResources>,
): FakeContainer {
  const { config } = container;
  const given = Object.entries(resources).filter(([, value]) => value !== 0n && value !== 0);
  const linux = {
    ...config.linux,
    resources: { ...config.linux?.resources, ...Object.fromEntries(given) },
  };
  container.config = { ...config, linux };
  return container;
}

/** What happened to containers, for checkers: who did it and when. */
export interface RuntimeAction {
  readonly atMs: number;
  readonly op: string;
  readonly uid: string;
  readonly container?: string;
  readonly id: string;
}

export function hasLabels(
  labels: DeepPartial<Record<string, string>> | undefined,
  selector: DeepPartial<Record<string, string>> | undefined,
): boolean {
  return Object.entries(selector ?? {}).every(([key, value]) => labels?.[key] === value);
}

export function listedSandbox({ id, config, createdAt, handler, ready }: FakeSandbox): PodSandbox {
  return PodSandbox.fromPartial({
    id,
    ...(config.metadata ? { metadata: config.metadata } : {}),
    state: ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY,
    createdAt,
    labels: config.labels ?? {},
    annotations: config.annotations ?? {},
    runtimeHandler: handler,
  });
}

export function sandboxStatus(sandbox: FakeSandbox): PodSandboxStatus {
  const network =
    sandbox.config.linux?.securityContext?.namespaceOptions?.network ?? NamespaceMode.POD;
  return PodSandboxStatus.fromPartial({
    ...listedSandbox(sandbox),
    network: { ip: network === NamespaceMode.NODE || !sandbox.networkHeld ? "" : sandbox.ip },
    linux: { namespaces: { options: { network } } },
  });
}

const STATES = {
  created: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  exited: ContainerState.CONTAINER_EXITED,
} as const;

export function listedContainer(container: FakeContainer): Container {
  const { id, sandboxId, config, createdAt, state } = container;
  return Container.fromPartial({
    id,
    podSandboxId: sandboxId,
    ...(config.metadata ? { metadata: config.metadata } : {}),
    ...(config.image ? { image: config.image } : {}),
    imageRef: config.image?.image ?? "",
    state: STATES[state],
    createdAt,
    labels: config.labels ?? {},
    annotations: config.annotations ?? {},
  });
}

export function containerStatus(container: FakeContainer): ContainerStatus {
  const { podSandboxId: _, ...listed } = listedContainer(container);
  const { startedAt, finishedAt, exitCode, reason } = container;
  const { stopSignal = Signal.SIGNAL_SIGTERM } = container.config;
  const signalled =
    stopSignal === Signal.SIGNAL_RUNTIME_DEFAULT ? Signal.SIGNAL_SIGTERM : stopSignal;
  const ended = { startedAt, finishedAt, exitCode, reason };
  return ContainerStatus.fromPartial({ ...listed, ...ended, stopSignal: signalled });
}

/** Usage of containers, whose layers were measured at `timestamp`, in nanoseconds since the epoch. */
export function containerStats(
  containers: readonly FakeContainer[],
  layerBytes: (container: FakeContainer) => number,
  timestamp: bigint,
): readonly ContainerStats[] {
  return containers.map((container) =>
    ContainerStats.fromPartial({
      attributes: { id: container.id },
      writableLayer: {
        timestamp,
        usedBytes: { value: BigInt(layerBytes(container)) },
        inodesUsed: { value: 2n },
      },
    }),
  );
}

export const VERSION = {
  version: "0.1.0",
  runtimeName: "fake",
  runtimeVersion: "1",
  runtimeApiVersion: "v1",
} as const;

export function runtimeStatus(options: FakeRuntimeOptions): StatusResponse {
  const { networkReady, runtimeReady, userNamespacesHostNetwork, mountOptions } = options;
  const reason = "NetworkPluginNotReady";
  const conditions = [
    {
      type: "RuntimeReady",
      status: runtimeReady,
      ...(runtimeReady ? {} : { reason: "Broken", message: "no shim" }),
    },
    { type: "NetworkReady", status: networkReady, reason, message: "no network" },
  ];
  const runtimeHandlers = [{ name: "", features: { userNamespaces: true } }, { name: "kata" }];
  const features = { userNamespacesHostNetwork, mountOptions };
  return StatusResponse.fromPartial({ status: { conditions }, runtimeHandlers, features });
}

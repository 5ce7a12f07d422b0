/**
 * The container runtime as the rest of the agent sees it: CRI v1 with deadlines and errors mapped to
 * `OutsideError`. The messages are CRI's own (generated). `connect-cri.ts` speaks to a socket, the
 * simulation brings a fake, and both pass `test/contracts/runtime-contract.ts`.
 */
import type { WallMs } from "../../kit/clock.ts";
import type { ContainerLayer } from "./decode-layers.ts";
import type {
  Container,
  ContainerConfig,
  ContainerFilter,
  ContainerStatus,
  DeepPartial,
  FilesystemUsage,
  Image,
  LinuxContainerResources,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxStatus,
  RuntimeConfigResponse,
  StatusResponse,
  VersionResponse,
} from "./generated/api.ts";

export type { ContainerLayer } from "./decode-layers.ts";
export type {
  Container,
  ContainerConfig,
  ContainerFilter,
  ContainerStatus,
  DeepPartial,
  FilesystemUsage,
  Image,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxStatus,
  RuntimeConfigResponse,
  StatusResponse,
  VersionResponse,
};

/** Result of a finished command; output as truncated by the runtime. */
export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** Which streams of a container to open. */
interface StreamRequest {
  readonly containerId: string;
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** Notification that a pod changed. Events get lost and come late: observe the pod instead of trusting them. */
export interface RuntimeEvent {
  /** Container or sandbox. */
  readonly containerId: string;
  /** Present when the stream reports it. */
  readonly podUid: string | undefined;
  readonly kind: "created" | "started" | "stopped" | "deleted" | "oom";
  /** When it happened, where the stream says that. */
  readonly createdAtMs?: WallMs;
}

/** Credentials for a registry: a user name with its password, or the token of a login. */
export type PullCredentials =
  | { readonly username: string; readonly password: string }
  | { readonly identityToken: string };

/** One pull, with the credentials to try. */
export interface PullRequest {
  readonly image: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly auth?: PullCredentials & { readonly serverAddress: string };
  readonly sandbox?: DeepPartial<PodSandboxConfig>;
}

/**
 * Every call may throw `OutsideError`: `notFound` for an unknown id, `unimplemented` where the runtime
 * is too old, `deadline`, `unavailable` while the socket is down. Calls end early with the signal.
 */
export interface RuntimeService {
  version(signal: AbortSignal): Promise<VersionResponse>;
  status(signal: AbortSignal): Promise<StatusResponse>;
  runtimeConfig(signal: AbortSignal): Promise<RuntimeConfigResponse>;
  /** Sets the pod networks of the runtime: networks with commas between, IPv4 or IPv6. */
  updateRuntimeConfig(podCidr: string, signal: AbortSignal): Promise<void>;
  listSandboxes(
    filter: DeepPartial<PodSandboxFilter>,
    signal: AbortSignal,
  ): Promise<readonly PodSandbox[]>;
  sandboxStatus(id: string, signal: AbortSignal): Promise<PodSandboxStatus>;
  /** Resolves with the id of the new, running sandbox. */
  runSandbox(
    config: DeepPartial<PodSandboxConfig>,
    runtimeHandler: string,
    signal: AbortSignal,
  ): Promise<string>;
  /** Idempotent; ends every container in it by force. */
  stopSandbox(id: string, signal: AbortSignal): Promise<void>;
  /** Idempotent; removes its containers too. */
  removeSandbox(id: string, signal: AbortSignal): Promise<void>;
  /** Sends the resources of a running pod; `unimplemented` by runtimes that do not support it. */
  updateSandbox(
    id: string,
    sums: {
      readonly resources: DeepPartial<LinuxContainerResources>;
      readonly overhead: DeepPartial<LinuxContainerResources>;
    },
    signal: AbortSignal,
  ): Promise<void>;
  listContainers(
    filter: DeepPartial<ContainerFilter>,
    signal: AbortSignal,
  ): Promise<readonly Container[]>;
  containerStatus(id: string, signal: AbortSignal): Promise<ContainerStatus>;
  /** Of the usage of all containers only the writable layers, which is all that the agent takes from it. */
  listContainerStats(signal: AbortSignal): Promise<readonly ContainerLayer[]>;
  /** Resolves with the id of the new container. */
  createContainer(
    sandboxId: string,
    config: DeepPartial<ContainerConfig>,
    sandbox: DeepPartial<PodSandboxConfig>,
    signal: AbortSignal,
  ): Promise<string>;
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Sends the stop signal, waits up to `graceSeconds`, then kills. Idempotent. */
  stopContainer(id: string, graceSeconds: number, signal: AbortSignal): Promise<void>;
  removeContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Changes the resources of a container as it runs; what is 0 or empty stays as it is. */
  updateContainer(
    id: string,
    resources: DeepPartial<LinuxContainerResources>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Runs a command to its end; `deadline` when it takes longer than `timeoutSeconds` (0: no limit). */
  execSync(
    id: string,
    command: readonly string[],
    timeoutSeconds: number,
    signal: AbortSignal,
  ): Promise<ExecResult>;
  /** URL of the runtime's streaming server for this exec. */
  exec(request: StreamRequest, command: readonly string[], signal: AbortSignal): Promise<string>;
  attach(request: StreamRequest, signal: AbortSignal): Promise<string>;
  portForward(sandboxId: string, ports: readonly number[], signal: AbortSignal): Promise<string>;
  reopenLog(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Life-cycle events as they happen, from the best stream the runtime has; ends by throwing when it
   * breaks, with `unimplemented` where there is none.
   */
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}

/** Images of the runtime; errors as `RuntimeService`. */
export interface ImageService {
  listImages(signal: AbortSignal): Promise<readonly Image[]>;
  /** The image that a reference names, if the runtime has it. */
  imageStatus(image: string, signal: AbortSignal): Promise<Image | undefined>;
  /** Resolves with the reference of what was pulled. No deadline but the signal's. */
  pullImage(request: PullRequest, signal: AbortSignal): Promise<string>;
  /** Removes the image with all its names; an unknown one is no error. */
  removeImage(image: string, signal: AbortSignal): Promise<void>;
  /** Labels the image was built with, as far as the runtime reports them; empty for an unknown image. */
  imageLabels(image: string, signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  filesystems(signal: AbortSignal): Promise<ImageFilesystems>;
}

/** Runtime's usage of the file systems with images and writable layers; one, or one for each. */
export interface ImageFilesystems {
  readonly images: readonly FilesystemUsage[];
  /** Empty when the runtime does not distinguish them. */
  readonly containers: readonly FilesystemUsage[];
}

/** Both services of one runtime. */
export interface ContainerRuntime {
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  /**
   * The runtime's verbose status beyond CRI: texts by name, mostly JSON, which differ between runtimes and
   * versions. Absent in a simulation.
   */
  selfDescription?(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
}

/** The calls of `RuntimeService` that are about sandboxes. */
export type SandboxCalls = Pick<
  RuntimeService,
  | "listSandboxes"
  | "sandboxStatus"
  | "runSandbox"
  | "stopSandbox"
  | "removeSandbox"
  | "updateSandbox"
>;

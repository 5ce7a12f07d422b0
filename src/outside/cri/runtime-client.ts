import { wallFromNanos } from "../../api/text/timestamps.ts";
import { OutsideError } from "../../kit/errors.ts";
import { wireSeconds } from "../../kit/timing/bounded-durations.ts";
import type { GrpcChannel } from "../grpc/channel.ts";
import { isUnimplemented } from "../grpc/grpc.ts";
import { type CallTerms, type CriCaller, criCaller } from "./call.ts";
import { containerdEvents } from "./containerd-events.ts";
import { isLeftTask, removeLeftTask } from "./containerd-tasks.ts";
import type { ExecResult, RuntimeEvent, RuntimeService, SandboxCalls } from "./cri.ts";
import { decodeLayers } from "./decode-layers.ts";
import type { ContainerStatus } from "./generated/api.ts";
import {
  AttachRequest,
  type ContainerEventResponse,
  ContainerEventType,
  CreateContainerRequest,
  ExecRequest,
  ListContainersRequest,
  ListPodSandboxRequest,
  type PodSandboxStatus,
  PortForwardRequest,
  RunPodSandboxRequest,
  RuntimeServiceDefinition,
  UpdateContainerResourcesRequest,
  UpdatePodSandboxResourcesRequest,
  UpdateRuntimeConfigRequest,
} from "./generated/api.ts";

const METHODS = RuntimeServiceDefinition.methods;
const LIST_LAYERS = { ...METHODS.listContainerStats, responseType: { decode: decodeLayers } };

/** CRI version that the agent sends in Version requests (kubelet's own constant). */
const KUBE_API_VERSION = "0.1.0";

/**
 * The runtime service on a channel. Deadlines as the Go kubelet: `timeoutMs` for most calls, twice that
 * for making a sandbox, on top of the grace for stopping and of the command's own limit for exec.
 */
export function createRuntimeClient(channel: GrpcChannel, terms: CallTerms): RuntimeService {
  const { timeoutMs } = terms;
  const cri = criCaller(channel, RuntimeServiceDefinition.fullName, terms);
  return {
    ...sandboxCalls(cri, timeoutMs),
    ...containerCalls(cri, channel, timeoutMs),
    ...streamCalls(cri),
    version: (signal) => cri.call(METHODS.version, { version: KUBE_API_VERSION }, signal),
    status: (signal) => cri.call(METHODS.status, { verbose: false }, signal),
    runtimeConfig: (signal) => cri.call(METHODS.runtimeConfig, {}, signal),
    updateRuntimeConfig: async (podCidr, signal) => {
      const request = UpdateRuntimeConfigRequest.fromPartial({
        runtimeConfig: { networkConfig: { podCidr } },
      });
      await cri.call(METHODS.updateRuntimeConfig, request, signal);
    },
    events: (signal) => lifeEvents(cri, channel, signal),
  };
}

function sandboxCalls(cri: CriCaller, timeoutMs: number): SandboxCalls {
  return {
    listSandboxes: async (filter, signal) => {
      const request = ListPodSandboxRequest.fromPartial({ filter });
      return (await cri.call(METHODS.listPodSandbox, request, signal)).items;
    },
    sandboxStatus: async (id, signal) => {
      const answer = await cri.call(
        METHODS.podSandboxStatus,
        { podSandboxId: id, verbose: false },
        signal,
      );
      return present<PodSandboxStatus>(answer.status, `status of sandbox ${id}`);
    },
    runSandbox: async (config, runtimeHandler, signal) => {
      const request = RunPodSandboxRequest.fromPartial({ config, runtimeHandler });
      return (await cri.call(METHODS.runPodSandbox, request, signal, 2 * timeoutMs)).podSandboxId;
    },
    stopSandbox: async (podSandboxId, signal) => {
      await cri.call(METHODS.stopPodSandbox, { podSandboxId }, signal);
    },
    removeSandbox: async (podSandboxId, signal) => {
      await cri.call(METHODS.removePodSandbox, { podSandboxId }, signal);
    },
    updateSandbox: async (podSandboxId, sums, signal) => {
      const request = UpdatePodSandboxResourcesRequest.fromPartial({ podSandboxId, ...sums });
      await cri.call(METHODS.updatePodSandboxResources, request, signal);
    },
  };
}

type ContainerCalls = Pick<
  RuntimeService,
  | "listContainers"
  | "containerStatus"
  | "listContainerStats"
  | "createContainer"
  | "startContainer"
  | "stopContainer"
  | "removeContainer"
  | "updateContainer"
  | "execSync"
  | "reopenLog"
>;

function containerCalls(cri: CriCaller, channel: GrpcChannel, timeoutMs: number): ContainerCalls {
  return {
    listContainers: async (filter, signal) => {
      const request = ListContainersRequest.fromPartial({ filter });
      return (await cri.call(METHODS.listContainers, request, signal)).containers;
    },
    containerStatus: async (containerId, signal) => {
      const answer = await cri.call(
        METHODS.containerStatus,
        { containerId, verbose: false },
        signal,
      );
      return present<ContainerStatus>(answer.status, `status of container ${containerId}`);
    },
    listContainerStats: (signal) => cri.call(LIST_LAYERS, { filter: undefined }, signal),
    createContainer: async (podSandboxId, config, sandboxConfig, signal) => {
      const request = CreateContainerRequest.fromPartial({ podSandboxId, config, sandboxConfig });
      return (await cri.call(METHODS.createContainer, request, signal)).containerId;
    },
    startContainer: async (containerId, signal) => {
      await cri.call(METHODS.startContainer, { containerId }, signal);
    },
    stopContainer: async (containerId, graceSeconds, signal) => {
      const request = { containerId, timeout: wireSeconds(graceSeconds) };
      await cri.call(METHODS.stopContainer, request, signal, timeoutMs + graceSeconds * 1000);
    },
    removeContainer: async (containerId, signal) => {
      try {
        await cri.call(METHODS.removeContainer, { containerId }, signal);
      } catch (error) {
        if (!isLeftTask(error)) throw error;
        await removeLeftTask(channel, containerId, signal, timeoutMs);
        await cri.call(METHODS.removeContainer, { containerId }, signal);
      }
    },
    updateContainer: async (containerId, linux, signal) => {
      const request = UpdateContainerResourcesRequest.fromPartial({ containerId, linux });
      await cri.call(METHODS.updateContainerResources, request, signal);
    },
    execSync: async (containerId, command, timeoutSeconds, signal) => {
      const request = { containerId, cmd: [...command], timeout: wireSeconds(timeoutSeconds) };
      const deadline = timeoutSeconds === 0 ? "none" : timeoutMs + timeoutSeconds * 1000;
      const { stdout, stderr, exitCode } = await cri.call(
        METHODS.execSync,
        request,
        signal,
        deadline,
      );
      return { stdout, stderr, exitCode } satisfies ExecResult;
    },
    reopenLog: async (containerId, signal) => {
      await cri.call(METHODS.reopenContainerLog, { containerId }, signal);
    },
  };
}

function streamCalls(cri: CriCaller): Pick<RuntimeService, "exec" | "attach" | "portForward"> {
  return {
    exec: async (stream, command, signal) => {
      const request = ExecRequest.fromPartial({ ...stream, cmd: [...command] });
      return (await cri.call(METHODS.exec, request, signal)).url;
    },
    attach: async (stream, signal) =>
      (await cri.call(METHODS.attach, AttachRequest.fromPartial(stream), signal)).url,
    portForward: async (podSandboxId, port, signal) => {
      const request = PortForwardRequest.fromPartial({ podSandboxId, port: [...port] });
      return (await cri.call(METHODS.portForward, request, signal)).url;
    },
  };
}

/** CRI's own stream, or containerd's where CRI has none yet (containerd 1.6). */
async function* lifeEvents(
  cri: CriCaller,
  channel: GrpcChannel,
  signal: AbortSignal,
): AsyncIterable<RuntimeEvent> {
  try {
    for await (const event of cri.stream(METHODS.getContainerEvents, {}, signal))
      yield eventOf(event);
    throw new OutsideError("unavailable", "the runtime ended its stream of container events");
  } catch (error) {
    if (!isUnimplemented(error)) throw error;
  }
  yield* containerdEvents(channel, signal);
}

const EVENT_KINDS: Readonly<Record<number, RuntimeEvent["kind"]>> = {
  [ContainerEventType.CONTAINER_CREATED_EVENT]: "created",
  [ContainerEventType.CONTAINER_STARTED_EVENT]: "started",
  [ContainerEventType.CONTAINER_STOPPED_EVENT]: "stopped",
  [ContainerEventType.CONTAINER_DELETED_EVENT]: "deleted",
};

function eventOf(event: ContainerEventResponse): RuntimeEvent {
  return {
    containerId: event.containerId,
    podUid: event.podSandboxStatus?.metadata?.uid,
    kind: EVENT_KINDS[event.containerEventType] ?? "stopped",
    ...(event.createdAt > 0n ? { createdAtMs: wallFromNanos(event.createdAt) } : {}),
  };
}

function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new OutsideError("io", `the runtime answered without the ${what}`);
  return value;
}

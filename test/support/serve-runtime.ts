// Any implementation of the runtime's services as a CRI runtime on a unix socket.
import { OutsideError } from "../../src/kit/errors.ts";
import type { ContainerRuntime, RuntimeEvent, RuntimeService } from "../../src/outside/cri/cri.ts";
import {
  ContainerEventResponse,
  ContainerEventType,
  ContainerStats,
  ImageServiceDefinition,
  type ImageSpec,
  PodSandboxConfig,
  RuntimeServiceDefinition,
} from "../../src/outside/cri/generated/api.ts";
import { GrpcError } from "../../src/outside/grpc/grpc.ts";
import {
  type GrpcListener,
  listenGrpc,
  type ServedCall,
  type ServedMethod,
  streamCall,
  type UnaryAnswer,
  unaryCall,
} from "../../src/outside/grpc/server.ts";

const RUNTIME = RuntimeServiceDefinition.methods;
const IMAGES = ImageServiceDefinition.methods;

/** Status codes of gRPC for the errors that an implementation throws; others are Unknown (2). */
const STATUS: Readonly<Record<string, number>> = {
  notFound: 5,
  unimplemented: 12,
  unavailable: 14,
};

/** Serves the calls of CRI at `path` until the listener is closed. Streaming (exec, attach, ports) is left out. */
export function serveRuntime(path: string, cri: ContainerRuntime): Promise<GrpcListener> {
  const calls = [
    ...nodeCalls(cri.runtime),
    ...sandboxCalls(cri.runtime),
    ...containerCalls(cri.runtime),
    ...imageCalls(cri),
  ];
  const onBroken = (error: Error) => {
    throw error;
  };
  return listenGrpc({ path, calls, onBroken });
}

function nodeCalls(runtime: RuntimeService): readonly ServedCall[] {
  return [
    runtimeCall(RUNTIME.version, (_, signal) => runtime.version(signal)),
    runtimeCall(RUNTIME.status, (_, signal) => runtime.status(signal)),
    runtimeCall(RUNTIME.runtimeConfig, (_, signal) => runtime.runtimeConfig(signal)),
    runtimeCall(RUNTIME.updateRuntimeConfig, async ({ runtimeConfig }, signal) => {
      await runtime.updateRuntimeConfig(runtimeConfig?.networkConfig?.podCidr ?? "", signal);
      return {};
    }),
    streamCall(
      RuntimeServiceDefinition.fullName,
      RUNTIME.getContainerEvents,
      async function* (_, signal) {
        for await (const event of runtime.events(signal)) yield eventMessage(event);
      },
    ),
  ];
}

function sandboxCalls(runtime: RuntimeService): readonly ServedCall[] {
  return [
    runtimeCall(RUNTIME.listPodSandbox, async ({ filter = {} }, signal) => ({
      items: [...(await runtime.listSandboxes(filter, signal))],
    })),
    runtimeCall(RUNTIME.podSandboxStatus, async ({ podSandboxId }, signal) => ({
      status: await runtime.sandboxStatus(podSandboxId, signal),
      info: {},
      containersStatuses: [],
      timestamp: 0n,
    })),
    runtimeCall(RUNTIME.runPodSandbox, async ({ config = {}, runtimeHandler }, signal) => ({
      podSandboxId: await runtime.runSandbox(config, runtimeHandler, signal),
    })),
    runtimeCall(RUNTIME.stopPodSandbox, async ({ podSandboxId }, signal) => {
      await runtime.stopSandbox(podSandboxId, signal);
      return {};
    }),
    runtimeCall(RUNTIME.removePodSandbox, async ({ podSandboxId }, signal) => {
      await runtime.removeSandbox(podSandboxId, signal);
      return {};
    }),
    runtimeCall(
      RUNTIME.updatePodSandboxResources,
      async ({ podSandboxId, resources = {}, overhead = {} }, signal) => {
        await runtime.updateSandbox(podSandboxId, { resources, overhead }, signal);
        return {};
      },
    ),
  ];
}

function containerCalls(runtime: RuntimeService): readonly ServedCall[] {
  return [
    runtimeCall(RUNTIME.listContainers, async ({ filter = {} }, signal) => ({
      containers: [...(await runtime.listContainers(filter, signal))],
    })),
    runtimeCall(RUNTIME.containerStatus, async ({ containerId }, signal) => ({
      status: await runtime.containerStatus(containerId, signal),
      info: {},
    })),
    runtimeCall(RUNTIME.listContainerStats, async (_, signal) => ({
      stats: (await runtime.listContainerStats(signal)).map((layer) =>
        ContainerStats.fromPartial({ ...layer }),
      ),
    })),
    runtimeCall(
      RUNTIME.createContainer,
      async ({ podSandboxId, config = {}, sandboxConfig }, signal) => {
        const sandbox = sandboxConfig ?? PodSandboxConfig.fromPartial({});
        return {
          containerId: await runtime.createContainer(podSandboxId, config, sandbox, signal),
        };
      },
    ),
    runtimeCall(RUNTIME.startContainer, async ({ containerId }, signal) => {
      await runtime.startContainer(containerId, signal);
      return {};
    }),
    runtimeCall(RUNTIME.stopContainer, async ({ containerId, timeout }, signal) => {
      await runtime.stopContainer(containerId, Number(timeout), signal);
      return {};
    }),
    runtimeCall(RUNTIME.removeContainer, async ({ containerId }, signal) => {
      await runtime.removeContainer(containerId, signal);
      return {};
    }),
    runtimeCall(RUNTIME.updateContainerResources, async ({ containerId, linux = {} }, signal) => {
      await runtime.updateContainer(containerId, linux, signal);
      return {};
    }),
    runtimeCall(RUNTIME.execSync, ({ containerId, cmd, timeout }, signal) =>
      runtime.execSync(containerId, cmd, Number(timeout), signal),
    ),
    runtimeCall(RUNTIME.reopenContainerLog, async ({ containerId }, signal) => {
      await runtime.reopenLog(containerId, signal);
      return {};
    }),
  ];
}

function imageCalls({ images }: ContainerRuntime): readonly ServedCall[] {
  return [
    imageCall(IMAGES.listImages, async (_, signal) => ({
      images: [...(await images.listImages(signal))],
    })),
    imageCall(IMAGES.imageStatus, async ({ image }, signal) => ({
      image: await images.imageStatus(nameOf(image), signal),
      info: {},
    })),
    imageCall(IMAGES.pullImage, async ({ image }, signal) => ({
      imageRef: await images.pullImage({ image: nameOf(image), annotations: {} }, signal),
    })),
    imageCall(IMAGES.removeImage, async ({ image }, signal) => {
      await images.removeImage(nameOf(image), signal);
      return {};
    }),
    imageCall(IMAGES.imageFsInfo, async (_, signal) => {
      const found = await images.filesystems(signal);
      return {
        imageFilesystems: [...found.images],
        containerFilesystems: [...found.containers],
      };
    }),
  ];
}

const nameOf = (image: ImageSpec | undefined) => image?.image ?? "";

const KINDS = {
  created: ContainerEventType.CONTAINER_CREATED_EVENT,
  started: ContainerEventType.CONTAINER_STARTED_EVENT,
  stopped: ContainerEventType.CONTAINER_STOPPED_EVENT,
  oom: ContainerEventType.CONTAINER_STOPPED_EVENT,
  deleted: ContainerEventType.CONTAINER_DELETED_EVENT,
} as const;

function eventMessage({ containerId, kind }: RuntimeEvent): ContainerEventResponse {
  return ContainerEventResponse.fromPartial({ containerId, containerEventType: KINDS[kind] });
}

function runtimeCall<Request, Response>(
  method: ServedMethod<Request, Response>,
  run: UnaryAnswer<NoInfer<Request>, NoInfer<Response>>,
): ServedCall {
  return unaryCall(RuntimeServiceDefinition.fullName, method, withStatus(run));
}

function imageCall<Request, Response>(
  method: ServedMethod<Request, Response>,
  run: UnaryAnswer<NoInfer<Request>, NoInfer<Response>>,
): ServedCall {
  return unaryCall(ImageServiceDefinition.fullName, method, withStatus(run));
}

/** Gives errors the status that a runtime would. */
function withStatus<Request, Response>(
  run: UnaryAnswer<Request, Response>,
): UnaryAnswer<Request, Response> {
  return async (request, signal) => {
    try {
      return await run(request, signal);
    } catch (error) {
      if (!(error instanceof OutsideError)) throw error;
      throw new GrpcError(STATUS[error.code] ?? 2, error.message, error);
    }
  };
}

import type { Reading } from "../../kit/cell.ts";
import type { Tracer } from "../../kit/tracing/tracing.ts";
import { type GrpcLink, openChannel } from "../grpc/channel.ts";
import { criCaller } from "./call.ts";
import { type ContentDownload, listDownloads } from "./containerd-content.ts";
import type { ContainerRuntime } from "./cri.ts";
import { RuntimeServiceDefinition } from "./generated/api.ts";
import { createImageClient } from "./image-client.ts";
import { createRuntimeClient } from "./runtime-client.ts";

/** Sockets of the runtime and the deadline of its calls. */
interface CriOptions {
  /** `unix:///path` of the runtime service. */
  readonly runtimeEndpoint: string;
  /** Of the image service, when it is another one. */
  readonly imageEndpoint?: string;
  /** Deadline of ordinary calls (runtimeRequestTimeout). */
  readonly timeoutMs: number;
  /** Records calls; default nothing. */
  readonly tracer?: Tracer;
}

/** The container runtime behind a socket; connects by itself and again whenever the socket comes back. */
export interface ConnectedRuntime extends ContainerRuntime {
  /** State of the runtime's connection. */
  readonly link: Reading<GrpcLink>;
  /**
   * The runtime's verbose status beyond CRI: texts by name, mostly JSON, which differ between runtimes and
   * versions.
   */
  selfDescription(signal: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /**
   * Downloads and imports in progress (containerd's content service). Throws `unimplemented` for other
   * runtimes.
   */
  downloads(signal: AbortSignal): Promise<readonly ContentDownload[]>;
  close(): void;
}

export type { ContentDownload } from "./containerd-content.ts";

/** Opens the connection to a CRI runtime; returns at once, calls fail as `unavailable` until it stands. */
export function connectCri(options: CriOptions): ConnectedRuntime {
  const runtimeChannel = openChannel({ target: options.runtimeEndpoint });
  const sameEndpoint =
    options.imageEndpoint === undefined || options.imageEndpoint === options.runtimeEndpoint;
  const imageChannel = sameEndpoint
    ? runtimeChannel
    : openChannel({ target: options.imageEndpoint });
  return {
    runtime: createRuntimeClient(runtimeChannel, options),
    images: createImageClient(imageChannel, options),
    link: runtimeChannel.state,
    selfDescription: async (signal) => {
      const cri = criCaller(runtimeChannel, RuntimeServiceDefinition.fullName, options);
      const { status } = RuntimeServiceDefinition.methods;
      return (await cri.call(status, { verbose: true }, signal)).info;
    },
    downloads: (signal) => listDownloads(imageChannel, options.timeoutMs, signal),
    close: () => {
      runtimeChannel.close();
      if (imageChannel !== runtimeChannel) imageChannel.close();
    },
  };
}

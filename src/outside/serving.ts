/** Parts of the outside that only a serving agent needs; a simulation has none. */
import type { Cell } from "../kit/cell.ts";
import type { OpenFolderBeneath } from "./host/files/open-folder.ts";
import { connectOwnProcess, type OwnProcess } from "./host/own-process.ts";
import { type StreamProgram, streamProgram } from "./host/stream-program.ts";
import { createListen } from "./net/serve/http-listener.ts";
import type { Listen } from "./net/serve/listen.ts";
import { createProfiler, type Profiler } from "./profiler/profiler.ts";

export type {
  NamedFile,
  OpenFile,
  OpenFolder,
  OpenFolderBeneath,
} from "./host/files/open-folder.ts";
export type { LoopDelay, OwnMemory, OwnProcess, ProcessUsage } from "./host/own-process.ts";
export type { StreamedEnd, StreamProgram } from "./host/stream-program.ts";
export type {
  ClientCertificate,
  Exchange,
  ForwardTarget,
  HttpListener,
  Listen,
  ListenAddress,
  ListenLimits,
  ListenOptions,
  ListenProblem,
  ReplyHeaders,
  ReplyStream,
  TlsMaterial,
  TlsSettings,
} from "./net/serve/listen.ts";
export {
  type ErrorReply,
  HTTP_LIMITS,
  type RequestService,
  type RoutedRequest,
  type ServeOptions,
  serveRequests,
} from "./net/serve/request-core.ts";
export { bearerTokenOf, parseTarget, type RequestTarget } from "./net/serve/request-target.ts";
export type { ProfileKind, Profiler } from "./profiler/profiler.ts";

/** Listening, reading logs, and inspecting this process. */
export interface Serving {
  readonly listen: Listen;
  /** As `Host.podFiles`, in a worker process. */
  readonly openFolder: OpenFolderBeneath;
  readonly process: OwnProcess;
  readonly profiler: Profiler;
  readonly streamProgram: StreamProgram;
  /** klog verbosity of the process' log, where it can be changed. */
  readonly verbosity: Cell<number> | undefined;
}

/** Serving on this machine. `close` ends its measuring; listeners are closed by their owners. */
export function connectServing(
  openFolder: OpenFolderBeneath,
  verbosity?: Cell<number>,
): Serving & { close(): void } {
  const process = connectOwnProcess();
  return {
    listen: createListen(),
    openFolder,
    process,
    profiler: createProfiler(),
    streamProgram,
    verbosity,
    close: () => process.close(),
  };
}

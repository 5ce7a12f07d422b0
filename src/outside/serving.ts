/** What only an agent that serves others needs of the world; a simulation goes without. */
import type { OpenFolderBeneath } from "./host/files/open-folder.ts";
import { connectOwnProcess, type OwnProcess } from "./host/own-process.ts";
import { createListen } from "./net/serve/http-listener.ts";
import type { Listen } from "./net/serve/listen.ts";

export type {
  NamedFile,
  OpenFile,
  OpenFolder,
  OpenFolderBeneath,
} from "./host/files/open-folder.ts";
export type { LoopDelay, OwnProcess, ProcessUsage } from "./host/own-process.ts";
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

/** Listening, reading logs, and looking at oneself. */
export interface Serving {
  readonly listen: Listen;
  /** As `Host.podFiles`, in a worker process. */
  readonly openFolder: OpenFolderBeneath;
  readonly process: OwnProcess;
}

/** Serving on this machine. `close` ends its measuring; listeners are closed by their owners. */
export function connectServing(openFolder: OpenFolderBeneath): Serving & { close(): void } {
  const process = connectOwnProcess();
  return {
    listen: createListen(),
    openFolder,
    process,
    close: () => process.close(),
  };
}

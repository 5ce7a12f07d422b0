import type { Reading } from "../../../kit/cell.ts";
import type { ApiActivity } from "../activity.ts";

/** One request to an API server. Bodies are JSON texts. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query. */
  readonly path: string;
  readonly body?: string;
  /** Of the body; `application/json` when left out. */
  readonly contentType?: string;
  /** Headers beside those of the transport, e.g. of tracing. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For everything: finding a connection, sending, waiting, reading. */
  readonly timeoutMs: number;
}

/** The reply of an API server; any status is an answer. */
export interface ApiReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A watch: one JSON document a line. */
export interface ApiWatchRequest {
  readonly path: string;
  /** Until the answer begins. */
  readonly timeoutMs: number;
  /** Until it must have ended; the server was asked to end it before. */
  readonly lifetimeMs: number;
}

/**
 * A watch that was answered. `lines` ends when the server ends it in order, and throws `OutsideError` when
 * the connection breaks or the lifetime is over. Lines that are not consumed apply back-pressure to the server.
 */
export type ApiWatchReply =
  | { readonly kind: "stream"; readonly lines: AsyncIterable<string> }
  | { readonly kind: "refused"; readonly reply: ApiReply };

/**
 * A way to one API server. Throws `OutsideError`: `unavailable` when there is no connection or it broke
 * (`wasSent` says whether the server may have seen the request), `deadline` when it took too long.
 */
export interface ApiTransport {
  request(request: ApiRequest, signal: AbortSignal): Promise<ApiReply>;
  watch(request: ApiWatchRequest, signal: AbortSignal): Promise<ApiWatchReply>;
  /** Whether the last attempt to reach the server had an answer. */
  readonly reachable: Reading<boolean>;
  /** `host:port` of the server, as metrics name it; absent where it is in this process. */
  readonly host?: string | undefined;
  close(): void;
}

/** A client certificate with its key, both PEM. */
export interface ClientIdentity {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

/** Client credentials of requests. What is absent is not sent. */
export interface Credentials {
  /** Shown when a connection is made; a change makes new connections and ends the old ones. */
  readonly identity?: Reading<ClientIdentity | undefined>;
  /** Bearer token of the next request. `refused` says that the last one was not accepted. */
  readonly token?: (refused: boolean, signal: AbortSignal) => Promise<string | undefined>;
  /** Name and password, as in old kubeconfigs. */
  readonly basic?: { readonly username: string; readonly password: string };
  /** Headers of impersonation. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Address and CA of an API server, and the client credentials. */
export interface ApiEndpoint {
  /** `https://host:port`, maybe with a path in front of all others. */
  readonly server: string;
  /** Authorities that the server's certificate must come from, PEM; the machine's own when left out. */
  readonly authoritiesPem?: string;
  /** Name the server's certificate must bear, when it is not the host of `server`. */
  readonly serverName?: string;
  /** Believe any certificate. */
  readonly insecure?: boolean;
  readonly credentials: Credentials;
}

/** Program that hands out credentials (`client.authentication.k8s.io`), as a kubeconfig names it. */
export interface CredentialProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  readonly installHint: string;
  /** Given to the program when it asks for it. */
  readonly cluster?: {
    readonly server: string;
    readonly tlsServerName?: string;
    readonly authoritiesPem?: string;
    readonly insecure?: boolean;
  };
}

/** Credentials that such a program returned. */
export interface ProgramCredentials {
  readonly token?: string;
  readonly identity?: ClientIdentity;
  /** Unix milliseconds; asked again after that. */
  readonly expiresAtMs?: number;
}

/** Connections to API servers. */
export interface Kube {
  /** Activity of the connections; absent in a simulation. */
  readonly activity?: ApiActivity;
  connect(endpoint: ApiEndpoint): ApiTransport;
  /** Runs a credential program once. Throws `OutsideError` with its output. */
  runCredentialProgram(
    program: CredentialProgram,
    signal: AbortSignal,
  ): Promise<ProgramCredentials>;
}

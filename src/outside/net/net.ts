/** Connections the agent makes on behalf of pods: probes and HTTP hooks. */

/** One GET; names, connections, TLS, redirects and body count against one deadline. */
export interface HttpExchange {
  readonly url: string;
  readonly method: "GET";
  /** As the pod gives them; a `Host` entry sets the request's host. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly timeoutMs: number;
  /** Bytes of the body that are kept; a longer one is cut off with the connection. */
  readonly maxBodyBytes: number;
  /** Follows redirects to the same host name, up to ten requests in all; others are the answer. */
  readonly followSameHost: boolean;
  /** Speaks HTTP/2 without TLS, as a server of it expects from the first byte. With TLS the server chooses. */
  readonly http2?: boolean;
}

/** Outcome of a GET; messages as in Go's net/http. */
export type HttpAnswer =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly body: string;
      readonly redirectedAway: boolean;
    }
  | { readonly kind: "timeout"; readonly message: string }
  | { readonly kind: "failure"; readonly message: string };

/** Outcome of a connect; messages as in Go's net package. */
export type ConnectAnswer =
  | { readonly kind: "connected" }
  | { readonly kind: "timeout"; readonly message: string }
  | { readonly kind: "failure"; readonly message: string };

/** One `grpc.health.v1.Health/Check`; dialling counts against the deadline. */
export interface GrpcHealthRequest {
  readonly host: string;
  readonly port: number;
  readonly service: string;
  readonly timeoutMs: number;
  readonly userAgent?: string;
  /** TLS, with any certificate; absent: plaintext. */
  readonly tls?: boolean;
}

/** Outcome of a health check; a `failure` carries the status as grpc-go prints it. */
export type GrpcHealthAnswer =
  | {
      readonly kind: "status";
      readonly status: "UNKNOWN" | "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN";
    }
  | { readonly kind: "unimplemented"; readonly message: string }
  | { readonly kind: "timeout"; readonly stage: "connect" | "call"; readonly message: string }
  | { readonly kind: "failure"; readonly message: string };

/**
 * Nothing here throws for what a peer does. Rejects with the signal's reason when that is aborted, with an
 * `OutsideError` "exhausted" where the node has no descriptors or memory for a connection, and for a broken promise of
 * our own. No connection outlives its answer, and none is left in TIME_WAIT.
 */
export interface Net {
  http(exchange: HttpExchange, signal: AbortSignal): Promise<HttpAnswer>;
  tcpConnect(
    host: string,
    port: number,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ConnectAnswer>;
  grpcHealth(request: GrpcHealthRequest, signal: AbortSignal): Promise<GrpcHealthAnswer>;
}

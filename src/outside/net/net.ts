/** Connections the agent makes on behalf of pods: probes and HTTP hooks. */

export interface HttpExchange {
  readonly url: string;
  readonly method: "GET";
  /** As the pod gives them; a `Host` entry sets the request's host. */
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly timeoutMs: number;
  /** Bytes of the body that are kept; the rest is read and forgotten, or the connection is cut. */
  readonly maxBodyBytes: number;
  /** Follows redirects to the same host name, at most ten. */
  readonly followSameHost: boolean;
}

export type HttpAnswer =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly body: string;
      readonly redirectedAway: boolean;
    }
  | { readonly kind: "timeout"; readonly message: string }
  | { readonly kind: "failure"; readonly message: string };

export type ConnectAnswer =
  | { readonly kind: "connected" }
  | { readonly kind: "timeout"; readonly message: string }
  | { readonly kind: "failure"; readonly message: string };

export interface GrpcHealthRequest {
  readonly host: string;
  readonly port: number;
  readonly service: string;
  readonly timeoutMs: number;
  readonly userAgent?: string;
}

export type GrpcHealthAnswer =
  | {
      readonly kind: "status";
      readonly status: "UNKNOWN" | "SERVING" | "NOT_SERVING" | "SERVICE_UNKNOWN";
    }
  | { readonly kind: "unimplemented"; readonly message: string }
  | { readonly kind: "timeout"; readonly stage: "connect" | "call"; readonly message: string }
  | { readonly kind: "failure"; readonly message: string };

/** Nothing here throws for what a peer does; only a broken promise of our own does. */
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

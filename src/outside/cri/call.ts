import { noTracer, type Tracer } from "../../kit/tracing/tracing.ts";
import type { GrpcChannel, GrpcMethod } from "../grpc/channel.ts";

/** One CRI service on a channel, with the agent's usual deadline. */
export interface CriCaller {
  call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: NoInfer<Request>,
    signal: AbortSignal,
    timeoutMs?: number | "none",
  ): Promise<Response>;
  stream<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: NoInfer<Request>,
    signal: AbortSignal,
  ): AsyncIterable<Response>;
}

/** How calls are made. */
export interface CallTerms {
  /** Of calls without a deadline of their own. */
  readonly timeoutMs: number;
  readonly tracer?: Tracer;
}

/** A caller for `service`. Each call is a span, which the runtime may continue. */
export function criCaller(
  channel: GrpcChannel,
  service: string,
  { timeoutMs, tracer = noTracer }: CallTerms,
): CriCaller {
  return {
    call: (method, request, signal, own = timeoutMs) => {
      const attributes = {
        "rpc.system": "grpc",
        "rpc.service": service,
        "rpc.method": method.name,
      };
      const deadline = own === "none" ? {} : { timeoutMs: own };
      return tracer.run(`${service}/${method.name}`, { kind: "client", attributes }, () =>
        channel.unary(method, service, request, {
          signal,
          headers: tracer.headers(),
          ...deadline,
        }),
      );
    },
    stream: (method, request, signal) => channel.serverStream(method, service, request, { signal }),
  };
}

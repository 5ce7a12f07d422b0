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

/** A caller for `service`; calls without a deadline of their own get `timeoutMs`. */
export function criCaller(channel: GrpcChannel, service: string, timeoutMs: number): CriCaller {
  return {
    call: (method, request, signal, own = timeoutMs) =>
      channel.unary(
        method,
        service,
        request,
        own === "none" ? { signal } : { signal, timeoutMs: own },
      ),
    stream: (method, request, signal) => channel.serverStream(method, service, request, { signal }),
  };
}

import type { GRPCAction } from "../../../api/generated/types.ts";
import { formatDuration } from "../../../api/text/duration.ts";
import type { GrpcHealthAnswer, Net } from "../../../outside/net/net.ts";
import { type ProbeOutcome, type ProbeRequest, USER_AGENT } from "../outcome.ts";

/** Asks `grpc.health.v1.Health/Check` at the pod's address; SERVING is success. */
export async function probeGrpc(
  net: Net,
  action: GRPCAction,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const answer = await net.grpcHealth(
    {
      host: request.podIp,
      port: action.port,
      service: action.service ?? "",
      timeoutMs: request.timeoutMs,
      userAgent: USER_AGENT,
      ...(action.mode === "TLS" ? { tls: true } : {}),
    },
    signal,
  );
  if (answer.kind === "status" && answer.status === "SERVING") {
    return { kind: "success", output: "service healthy" };
  }
  const { podIp: host, timeoutMs } = request;
  const address = host.includes(":") ? `[${host}]:${action.port}` : `${host}:${action.port}`;
  return {
    kind: "failure",
    output: failureText(answer, address, formatDuration(timeoutMs)),
    timedOut: answer.kind === "timeout",
  };
}

function failureText(answer: GrpcHealthAnswer, address: string, within: string): string {
  switch (answer.kind) {
    case "status":
      return `service unhealthy (responded with "${answer.status}")`;
    case "unimplemented":
      return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${answer.message}`;
    case "timeout":
      return answer.stage === "call"
        ? `timeout: health rpc did not complete within ${within}`
        : `timeout: failed to connect service "${address}" within ${within}: ${answer.message}`;
    case "failure":
      return `error: health rpc probe failed: ${answer.message}`;
    default:
      return answer satisfies never;
  }
}

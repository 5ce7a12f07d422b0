import type { TCPSocketAction } from "../../../api/generated/types.ts";
import type { ProbeOutcome, ProbeRequest } from "../outcome.ts";
import { resolvePort } from "../target.ts";
import type { SharedConnects } from "./shared-connects.ts";

/** Connects; that it can is success. */
export async function probeTcp(
  connects: SharedConnects,
  action: TCPSocketAction,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const resolved = resolvePort(action.port, request.container);
  if ("error" in resolved) return { kind: "error", message: resolved.error };
  const { containerId, timeoutMs } = request;
  const host = action.host || request.podIp;
  const connect = { containerId, host, port: resolved.port, timeoutMs };
  const answer = await connects.connect(connect, signal);
  return answer.kind === "connected"
    ? { kind: "success", output: "" }
    : { kind: "failure", output: answer.message, timedOut: answer.kind === "timeout" };
}

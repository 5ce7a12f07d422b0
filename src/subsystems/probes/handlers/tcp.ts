import type { TCPSocketAction } from "../../../api/generated/types.ts";
import type { ConnectAnswer, Net } from "../../../outside/net/net.ts";
import type { ProbeOutcome, ProbeRequest } from "../outcome.ts";
import { resolvePort } from "../target.ts";

/** Connects; that it can is success. */
export async function probeTcp(
  net: Pick<Net, "tcpConnect">,
  action: TCPSocketAction,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const resolved = resolvePort(action.port, request.container);
  if ("error" in resolved) return { kind: "error", message: resolved.error };
  const host = action.host || request.podIp;
  return outcomeOf(await net.tcpConnect(host, resolved.port, request.timeoutMs, signal));
}

const SUCCESS: ProbeOutcome = { kind: "success", output: "" };

function outcomeOf(answer: ConnectAnswer): ProbeOutcome {
  if (answer.kind === "connected") return SUCCESS;
  return { kind: "failure", output: answer.message, timedOut: answer.kind === "timeout" };
}

import type { TCPSocketAction } from "../../../api/generated/types.ts";
import type { ConnectAnswer } from "../../../outside/net/net.ts";
import type { ProbeOutcome, ProbeRequest } from "../outcome.ts";
import { resolvePort } from "../target.ts";
import type { SharedConnects } from "./shared-connects.ts";

/** Connects; that it can is success. An outcome that is known at once is returned. */
export function probeTcp(
  connects: SharedConnects,
  action: TCPSocketAction,
  request: ProbeRequest,
  signal: AbortSignal,
): ProbeOutcome | Promise<ProbeOutcome> {
  const resolved = resolvePort(action.port, request.container);
  if ("error" in resolved) return { kind: "error", message: resolved.error };
  const { containerId, timeoutMs } = request;
  const host = action.host || request.podIp;
  const answer = connects.connect({ containerId, host, port: resolved.port, timeoutMs }, signal);
  return answer instanceof Promise ? answer.then(outcomeOf) : outcomeOf(answer);
}

const SUCCESS: ProbeOutcome = { kind: "success", output: "" };

function outcomeOf(answer: ConnectAnswer): ProbeOutcome {
  if (answer.kind === "connected") return SUCCESS;
  return { kind: "failure", output: answer.message, timedOut: answer.kind === "timeout" };
}

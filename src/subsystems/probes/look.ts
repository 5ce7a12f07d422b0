import type { Net } from "../../outside/net/net.ts";
import { type ExecPorts, probeExec } from "./handlers/exec.ts";
import { probeGrpc } from "./handlers/grpc.ts";
import { probeHttp } from "./handlers/http.ts";
import { probeTcp } from "./handlers/tcp.ts";
import type { ProbeOutcome, ProbeRequest } from "./outcome.ts";

/** What looking at a container takes. */
export interface LookPorts extends ExecPorts {
  readonly net: Net;
}

/** Tries of one probe while it cannot be made; a failed probe is not tried again. */
const TRIES = 3;

/** Looks once. Throws the signal's reason when the caller no longer wants to know. */
export async function look(
  ports: LookPorts,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  let outcome = await lookOnce(ports, request, signal);
  for (let tries = 1; tries < TRIES && isWorthAnother(outcome); tries += 1) {
    signal.throwIfAborted();
    outcome = await lookOnce(ports, request, signal);
  }
  return outcome;
}

function isWorthAnother(outcome: ProbeOutcome): boolean {
  return outcome.kind === "error" && outcome.final !== true;
}

function lookOnce(
  ports: LookPorts,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const { exec, httpGet, tcpSocket, grpc } = request.probe;
  if (exec) return probeExec(ports, exec, request, signal);
  if (httpGet) return probeHttp(ports.net, httpGet, request, signal);
  if (tcpSocket) return probeTcp(ports.net, tcpSocket, request, signal);
  if (grpc) return probeGrpc(ports.net, grpc, request, signal);
  const message = `missing probe handler for ${request.podText}:${request.container.name}`;
  return Promise.resolve({ kind: "error", message });
}

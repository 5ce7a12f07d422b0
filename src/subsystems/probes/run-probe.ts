import {
  type ProbeAction,
  type ProbeHandlerName,
  probeHandlerOf,
} from "../../api/pod/probe-handlers.ts";
import { isOutside } from "../../kit/errors.ts";
import type { Net } from "../../outside/net/net.ts";
import { type ExecPorts, probeExec } from "./handlers/exec.ts";
import { probeGrpc } from "./handlers/grpc.ts";
import { probeHttp } from "./handlers/http.ts";
import type { SharedConnects } from "./handlers/shared-connects.ts";
import { probeTcp } from "./handlers/tcp.ts";
import type { ProbeOutcome, ProbeRequest } from "./outcome.ts";

/** Dependencies for running a probe. */
export interface ProbePorts extends ExecPorts {
  readonly net: Net;
  /** Connects of TCP probes, made through `net`. */
  readonly connects: SharedConnects;
}

/** Maximum tries of one attempt while it errors; a failed probe is not retried. */
const TRIES = 3;

/** Runs one probe attempt. Throws the signal's reason when it is aborted. */
export async function runProbe(
  ports: ProbePorts,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const name = probeHandlerOf(request.probe);
  if (name === undefined) {
    const message = `missing probe handler for ${request.podText}:${request.container.name}`;
    return { kind: "error", message };
  }
  for (let tries = 1; ; tries += 1) {
    let outcome: ProbeOutcome;
    try {
      outcome = await callHandler(name, ports, request, signal);
    } catch (error) {
      // The node has no descriptors or memory for a connection. Unlike with the Go kubelet no container fails for that.
      if (!isOutside(error, "exhausted")) throw error;
      outcome = { kind: "error", message: error.message };
    }
    if (tries === TRIES || !isWorthAnother(outcome)) return outcome;
    signal.throwIfAborted();
  }
}

function isWorthAnother(outcome: ProbeOutcome): boolean {
  return outcome.kind === "error" && outcome.final !== true;
}

type Handlers = {
  readonly [K in ProbeHandlerName]: (
    ports: ProbePorts,
    action: ProbeAction<K>,
    request: ProbeRequest,
    signal: AbortSignal,
  ) => Promise<ProbeOutcome>;
};

const HANDLERS: Handlers = {
  exec: probeExec,
  httpGet: ({ net }, ...probe) => probeHttp(net, ...probe),
  tcpSocket: ({ connects }, ...probe) => probeTcp(connects, ...probe),
  grpc: ({ net }, ...probe) => probeGrpc(net, ...probe),
};

function callHandler<K extends ProbeHandlerName>(
  name: K,
  ports: ProbePorts,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  return HANDLERS[name](ports, request.probe[name] as ProbeAction<K>, request, signal);
}

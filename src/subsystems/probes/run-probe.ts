import {
  type ProbeAction,
  type ProbeHandlerName,
  probeHandlerOf,
} from "../../api/pod/probe-handlers.ts";
import { isOutside } from "../../kit/errors.ts";
import { lendAfter, type Slots } from "../../kit/limits/slots.ts";
import type { Net } from "../../outside/net/net.ts";
import { type ExecPorts, LONG_START_MS, probeExec } from "./handlers/exec.ts";
import { probeGrpc } from "./handlers/grpc.ts";
import { probeHttp } from "./handlers/http.ts";
import { probeTcp } from "./handlers/tcp.ts";
import type { ProbeOutcome, ProbeRequest } from "./outcome.ts";

/** The runtime, the network and the guard that attempts of probes use. */
export interface ProbePorts extends ExecPorts {
  readonly net: Net;
  readonly protocols: ProbeProtocols;
}

/** Protocols that probes may ask for, beside HTTP/1.1 and plaintext (gates H2CContainerProbe, GRPCContainerProbeTLS). */
export interface ProbeProtocols {
  readonly http2: boolean;
  readonly grpcTls: boolean;
}

/** Maximum tries of one attempt while it errors; a failed probe is not retried. */
const TRIES = 3;

/** Runs one probe attempt. Rejects with the signal's reason when it is aborted. */
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
  let outcome = await callHandler(name, ports, request, signal);
  for (let tries = 1; tries < TRIES && isWorthAnother(outcome); tries += 1) {
    signal.throwIfAborted();
    outcome = await callHandler(name, ports, request, signal);
  }
  return outcome;
}

/**
 * Runs an attempt by exec once there is a slot for it; `undefined` when `begin`, which is called then, says that it no longer
 * matters.
 */
export function runInSlot(
  slots: Slots,
  ports: ProbePorts,
  { request, begin }: { readonly request: ProbeRequest; readonly begin: () => boolean },
  signal: AbortSignal,
): Promise<ProbeOutcome | undefined> {
  return slots.run(request.podUid, signal, async (slot) => {
    // The container may be gone by the time a slot is free.
    if (!begin()) return undefined;
    const limit = { clock: ports.clock, ms: request.timeoutMs + LONG_START_MS };
    return await lendAfter(slot, limit, async () => await runProbe(ports, request, signal));
  });
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
  httpGet: ({ net, protocols }, action, ...rest) =>
    probeHttp(net, protocols.http2 ? action : { ...action, protocol: "HTTP1" }, ...rest),
  tcpSocket: ({ net }, ...probe) => probeTcp(net, ...probe),
  grpc: ({ net, protocols }, action, ...rest) =>
    probeGrpc(net, protocols.grpcTls ? action : { ...action, mode: "Plaintext" }, ...rest),
};

async function callHandler<K extends ProbeHandlerName>(
  name: K,
  ports: ProbePorts,
  request: ProbeRequest,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  try {
    return await HANDLERS[name](ports, request.probe[name] as ProbeAction<K>, request, signal);
  } catch (error) {
    // The node has no descriptors or memory for a connection. Unlike with the Go kubelet no container fails for that.
    if (!isOutside(error, "exhausted")) throw error;
    return { kind: "error", message: error.message };
  }
}

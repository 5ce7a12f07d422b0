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

/** Runs one probe attempt; an outcome that is known at once is returned. Throws the signal's reason when it is aborted. */
export function runProbe(
  ports: ProbePorts,
  request: ProbeRequest,
  signal: AbortSignal,
): ProbeOutcome | Promise<ProbeOutcome> {
  const name = probeHandlerOf(request.probe);
  if (name === undefined) {
    const message = `missing probe handler for ${request.podText}:${request.container.name}`;
    return { kind: "error", message };
  }
  const attempt = () => callHandler(name, ports, request, signal);
  const first = attempt();
  if (!(first instanceof Promise) && !isWorthAnother(first)) return first;
  return retried(first, attempt, signal);
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

async function retried(
  first: ProbeOutcome | Promise<ProbeOutcome>,
  attempt: () => ProbeOutcome | Promise<ProbeOutcome>,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  let outcome = await first;
  for (let tries = 1; tries < TRIES && isWorthAnother(outcome); tries += 1) {
    signal.throwIfAborted();
    outcome = await attempt();
  }
  return outcome;
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
  ) => ProbeOutcome | Promise<ProbeOutcome>;
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
): ProbeOutcome | Promise<ProbeOutcome> {
  try {
    const action = request.probe[name] as ProbeAction<K>;
    const outcome = HANDLERS[name](ports, action, request, signal);
    return outcome instanceof Promise ? outcome.catch(exhausted) : outcome;
  } catch (error) {
    return exhausted(error);
  }
}

/** The node has no descriptors or memory for a connection. Unlike with the Go kubelet no container fails for that. */
function exhausted(error: unknown): ProbeOutcome {
  if (!isOutside(error, "exhausted")) throw error;
  return { kind: "error", message: error.message };
}

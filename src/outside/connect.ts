import type { Cell } from "../kit/cell.ts";
import type { Clock } from "../kit/clock.ts";
import { createSystemClock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import { createSystemRandom } from "../kit/random.ts";
import { noTracer, type Tracer } from "../kit/tracing/tracing.ts";
import { type ConnectedRuntime, connectCri } from "./cri/connect-cri.ts";
import { connectGrpc } from "./grpc/grpc.ts";
import { connectHost } from "./host/connect-host.ts";
import { runProgram } from "./host/run-program.ts";
import { createFileWorkers, type startFileWorker } from "./host/worker/file-workers.ts";
import { connectKube } from "./kube/connect-kube.ts";
import type { ApiTransport, Kube } from "./kube/kube.ts";
import { connectNet } from "./net/connect-net.ts";
import type { Outside } from "./outside.ts";
import { connectServing, type Serving } from "./serving.ts";
import { connectServiceNotifier } from "./systemd/service-notifier.ts";
import { tracedTransport } from "./tracing/traced-transport.ts";

export { startFileWorker } from "./host/worker/file-workers.ts";

export interface ConnectOptions {
  /** `unix:///path` of the CRI runtime. */
  readonly runtimeEndpoint: string;
  /** Of its image service, when it is another one. */
  readonly imageEndpoint: string;
  /** Deadline of ordinary CRI calls. */
  readonly runtimeTimeoutMs: number;
  /** How requests to API servers present themselves; default `nodelet`. */
  readonly userAgent?: string;
  /** klog verbosity of the log, which callers of the server may then change. */
  readonly verbosity?: Cell<number>;
  /** Records what takes how long; default nothing. */
  readonly tracer?: Tracer;
  /** A file worker that was started ahead (`startFileWorker`); default one at the first request. */
  readonly fileWorker?: ReturnType<typeof startFileWorker>;
}

/** The real outside: this machine, its runtime, its network. */
export interface ConnectedOutside extends Outside {
  readonly kube: Kube;
  readonly cri: ConnectedRuntime;
  readonly serving: Serving;
  close(): void;
}

/** The longest step of coalesced alarms. */
const MAX_PHASE_MS = 60_000;

/** Connects to the machine; returns at once, the runtime connects by itself. */
export function connectOutside(options: ConnectOptions, log: Log): ConnectedOutside {
  const random = createSystemRandom();
  // Nodes that were started together shall not ask the API server together for ever after.
  const clock: Clock = createSystemClock({ phaseMs: random.next() * MAX_PHASE_MS });
  const { userAgent = "nodelet", tracer = noTracer } = options;
  const cri = connectCri({
    runtimeEndpoint: options.runtimeEndpoint,
    imageEndpoint: options.imageEndpoint,
    timeoutMs: options.runtimeTimeoutMs,
    tracer,
  });
  const { fileWorker: first } = options;
  const own = { clock, log: log.child("files") };
  const fileWorkers = createFileWorkers(first ? { ...own, first } : own);
  const serving = connectServing(fileWorkers.openFolder, options.verbosity);
  const serviceNotifier = connectServiceNotifier({
    env: process.env,
    pid: process.pid,
    runProgram,
  });
  const { kube, closeAll } = closable(
    connectKube({ clock, random, log: log.child("kube"), userAgent }),
    tracer,
  );
  return {
    clock,
    random,
    log,
    tracer,
    kube,
    host: connectHost({ clock, log: log.child("host"), fileWorkers }),
    cri,
    net: connectNet(),
    grpc: connectGrpc(),
    serving,
    ...(serviceNotifier ? { serviceNotifier } : {}),
    close: () => {
      closeAll();
      serving.close();
      fileWorkers.close();
      cri.close();
    },
  };
}

/** Open connections keep the process running: all are closed at the end. */
function closable(
  kube: Kube,
  tracer: Tracer,
): { readonly kube: Kube; readonly closeAll: () => void } {
  const transports: ApiTransport[] = [];
  const connect: Kube["connect"] = (endpoint) => {
    const transport = kube.connect(endpoint);
    transports.push(transport);
    return tracer === noTracer ? transport : tracedTransport(transport, tracer);
  };
  return {
    kube: { ...kube, connect },
    closeAll: () => {
      for (const transport of transports) transport.close();
    },
  };
}

/** The machine alone, for programs that only inspect or prepare it. */
export function connectMachine(log: Log): Pick<Outside, "clock" | "host"> {
  const clock: Clock = createSystemClock();
  return { clock, host: connectHost({ clock, log }) };
}

import { onAbort } from "../../kit/on-abort.ts";
import { bounded } from "./bounded.ts";
import { deadline } from "./deadlines.ts";
import { connectTo, dialError, joinHostPort, PeerError } from "./dial.ts";
import type { ConnectAnswer, Net } from "./net.ts";
import { PendingConnects } from "./pending-connects.ts";
import { type ConnectProgress, loadSystemSockets, type SystemSockets } from "./system-sockets.ts";

type TcpConnect = Net["tcpConnect"];

const CONNECTED: ConnectAnswer = { kind: "connected" };

/**
 * Connects and closes with a reset at once; the texts are those of Go's net.Dialer. Where Node can call the C library,
 * addresses are connected to by system calls, at a fraction of the cost of a socket of Node; `load`, which is called
 * once, by the first connect.
 */
export function createTcpConnect(load = loadSystemSockets): TcpConnect {
  let bySystem: TcpConnect | undefined;
  return (...args) => {
    if (!bySystem) {
      const sockets = load();
      bySystem = sockets ? connectBySystemCalls(sockets) : connectBySocket;
    }
    return bySystem(...args);
  };
}

function timeoutAnswer(host: string, port: number): ConnectAnswer {
  return { kind: "timeout", message: `dial tcp ${joinHostPort(host, port)}: i/o timeout` };
}

/** The answer about a peer that could not be connected to. Throws what says nothing about the peer. */
function failureAnswer(error: Error): ConnectAnswer {
  if (error instanceof PeerError) return { kind: "failure", message: error.message };
  throw error;
}

const connectBySocket: TcpConnect = (host, port, timeoutMs, signal) =>
  bounded<ConnectAnswer>(
    { timeoutMs, signal, onTimeout: () => timeoutAnswer(host, port) },
    async (held) => {
      const error = await new Promise<Error | undefined>((resolve) => {
        connectTo(host, port, held, {
          onConnect: () => resolve(undefined),
          onDialError: resolve,
        });
      });
      return error ? failureAnswer(error) : CONNECTED;
    },
  );

/** One connect. */
interface Target {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Nearly all connects of a node go to its own pods, where the handshake is over when connect(2) returns: these need neither a timer
 * nor an event.
 */
function connectBySystemCalls(sockets: SystemSockets): TcpConnect {
  const pending = new PendingConnects(sockets);
  return async (host, port, timeoutMs, signal) => {
    signal.throwIfAborted();
    const descriptor = sockets.connect(host, port);
    if (descriptor === undefined) return await connectBySocket(host, port, timeoutMs, signal);
    const target = { host, port, timeoutMs, signal };
    let progress: ConnectProgress;
    try {
      progress = sockets.progress(descriptor);
      if (progress.kind === "pending")
        progress = await settled(sockets, pending, descriptor, target);
    } finally {
      sockets.reset(descriptor);
    }
    return await answerOf(progress, target);
  };
}

function answerOf(
  progress: ConnectProgress,
  { host, port, timeoutMs, signal }: Target,
): ConnectAnswer | Promise<ConnectAnswer> {
  switch (progress.kind) {
    case "connected":
      return CONNECTED;
    case "pending":
      return timeoutAnswer(host, port);
    case "failed": {
      const { code } = progress;
      const message = `connect ${code} ${host}:${port}`;
      return failureAnswer(dialError(host, port, Object.assign(new Error(message), { code })));
    }
    case "unknown":
      // Connects once more in the way that names the reason.
      return connectBySocket(host, port, timeoutMs, signal);
    default:
      return progress satisfies never;
  }
}

/**
 * What becomes of a connection in progress; "pending" when the time is over and it still is. Throws the signal's reason when
 * the caller leaves.
 */
function settled(
  sockets: SystemSockets,
  pending: PendingConnects,
  descriptor: number,
  { timeoutMs, signal }: Target,
): Promise<ConnectProgress> {
  return new Promise((resolve, reject) => {
    const end = () => {
      leave();
      cancel();
      forget();
    };
    const leave = pending.add(descriptor, (progress) => {
      end();
      resolve(progress);
    });
    const cancel = deadline(timeoutMs, () => {
      end();
      // It counts when it came in time, though the agent was late.
      resolve(sockets.progress(descriptor));
    });
    const forget = onAbort(signal, () => {
      end();
      reject(signal.reason as Error);
    });
  });
}

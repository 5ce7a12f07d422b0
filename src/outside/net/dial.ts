import { connect, isIPv6, type Socket } from "node:net";
import { OutsideError } from "../../kit/errors.ts";
import type { HeldSockets } from "./bounded.ts";

/** Why a peer could not be spoken to, in the words of Go's net package, which users search for. */
export class PeerError extends Error {
  override readonly name = "PeerError";
}

/** Go's texts for the errors of connect, read and write. */
const ERRNO_TEXT: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset by peer",
  ECONNABORTED: "software caused connection abort",
  EHOSTUNREACH: "no route to host",
  EHOSTDOWN: "host is down",
  ENETUNREACH: "network is unreachable",
  ENETDOWN: "network is down",
  ETIMEDOUT: "connection timed out",
  EADDRNOTAVAIL: "cannot assign requested address",
  EADDRINUSE: "address already in use",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  EPIPE: "broken pipe",
  EINVAL: "invalid argument",
  EAFNOSUPPORT: "address family not supported by protocol",
  EMFILE: "too many open files",
  ENFILE: "too many open files in system",
};

/** Errors of connect(2) that say what this process or the node is short of, and nothing about the peer. */
const OWN_SHORTAGES: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]);

/** `host:port`, with brackets around IPv6 (Go's net.JoinHostPort). */
export function joinHostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The first error of several: connecting to a name tries all its addresses and throws them together. */
function firstOf(error: unknown): NodeJS.ErrnoException {
  if (error instanceof AggregateError && error.errors.length > 0) return firstOf(error.errors[0]);
  return error as NodeJS.ErrnoException;
}

function dialText(host: string, port: number, thrown: unknown): string {
  const error = firstOf(thrown);
  if (error.code === "ENOTFOUND" || error.code === "EAI_AGAIN" || error.code === "EAI_NODATA") {
    const why = error.code === "EAI_AGAIN" ? "server misbehaving" : "no such host";
    return `dial tcp: lookup ${host}: ${why}`;
  }
  const why = ERRNO_TEXT[error.code ?? ""];
  const { address } = error as { readonly address?: string };
  const at = joinHostPort(address ?? host, port);
  return why ? `dial tcp ${at}: connect: ${why}` : `dial tcp ${at}: ${error.message}`;
}

/** Why there is no connection: because of the peer (`PeerError`), or of the node itself (`OutsideError` "exhausted"). */
export function dialError(host: string, port: number, thrown: unknown): Error {
  const text = dialText(host, port, thrown);
  const isOwn = OWN_SHORTAGES.has(firstOf(thrown).code ?? "");
  return isOwn ? new OutsideError("exhausted", text, { cause: thrown }) : new PeerError(text);
}

/**
 * Text of an error on a connection to `host:port` that stood. Our own address is left out: its port
 * differs every time, and an event with the same text as the last one is counted instead of recreated.
 */
export function brokenText(host: string, port: number, thrown: unknown): string {
  const error = firstOf(thrown);
  const why = ERRNO_TEXT[error.code ?? ""];
  if (!why) return error.message;
  const verb = error.syscall === "write" ? "write" : "read";
  return `${verb} tcp ${joinHostPort(host, port)}: ${verb}: ${why}`;
}

/** Callbacks of a connection. */
interface Connecting {
  readonly onConnect: (socket: Socket) => void;
  /**
   * A `PeerError`, or an `OutsideError` "exhausted" where the node has no descriptors or memory for a connection. The
   * texts of errors until it stands are those of Go's net.Dialer.
   */
  readonly onDialError: (error: Error) => void;
  /** An error of the connection that stood; left out by who listens to the socket itself. */
  readonly onBroken?: (error: Error) => void;
  /** Takes what the peer sends in place of the stream, read into `buffer`; the bytes are gone after the call. */
  readonly onBytes?: { readonly buffer: Uint8Array; readonly take: (bytes: Uint8Array) => void };
}

/**
 * Connects. The socket stays half open when the peer closes, because an ordinary close in answer
 * would leave the peer's side in TIME_WAIT.
 */
export function connectTo(
  host: string,
  port: number,
  held: HeldSockets,
  handlers: Connecting,
): Socket {
  const { onBytes } = handlers;
  const onread = onBytes && {
    buffer: onBytes.buffer,
    callback: (length: number, buffer: Uint8Array) => {
      onBytes.take(buffer.subarray(0, length));
      return true;
    },
  };
  const socket = connect({ host, port, allowHalfOpen: true, ...(onread ? { onread } : {}) });
  let stood = false;
  held.add(socket);
  // Kept to the end: an error after the end of the exchange has no other listener.
  socket.on("error", (error) => {
    if (stood) handlers.onBroken?.(error);
    else handlers.onDialError(dialError(host, port, error));
  });
  socket.once("connect", () => {
    stood = true;
    handlers.onConnect(socket);
  });
  return socket;
}

/** Connects for who needs the socket as a stream. Throws what `onDialError` is called with. */
export function dial(host: string, port: number, held: HeldSockets): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const onConnect = (socket: Socket) => {
      // Handshakes and frames are small and wait for each other.
      socket.setNoDelay(true);
      resolve(socket);
    };
    connectTo(host, port, held, { onConnect, onDialError: reject });
  });
}

/** Parts of a URL that a request needs. */
export interface HttpTarget {
  readonly secure: boolean;
  /** Without brackets; an IPv6 zone in plain spelling. */
  readonly host: string;
  readonly port: number;
  /** Path and query as they are sent. */
  readonly path: string;
  /** Host and port as in the URL, without an IPv6 zone: the `Host` header. */
  readonly authority: string;
}

const URL_PARTS = /^(https?):\/\/(?:[^/?#@]*@)?(\[[^\]]+\]|[^/?#:[\]]+)(?::(\d{1,5}))?([^#]*)/i;

/**
 * Takes a URL apart without touching its path: the `URL` class would resolve `..` and turn
 * backslashes, which a probe must send as they are. `undefined` when it is not an http(s) URL.
 */
export function parseHttpTarget(url: string): HttpTarget | undefined {
  const [, scheme = "", rawHost = "", rawPort, rest = ""] = URL_PARTS.exec(url) ?? [];
  if (scheme === "") return undefined;
  const secure = scheme.toLowerCase() === "https";
  const bracketed = rawHost.startsWith("[");
  const host = bracketed ? rawHost.slice(1, -1).replace("%25", "%") : rawHost;
  if (bracketed && !isIPv6(host)) return undefined;
  const port = rawPort === undefined ? (secure ? 443 : 80) : Number(rawPort);
  if (port < 1 || port > 65_535) return undefined;
  const shown = bracketed ? `[${host.replace(/%.*/, "")}]` : host;
  return {
    secure,
    host,
    port,
    path: rest.startsWith("/") ? rest : `/${rest}`,
    authority: rawPort === undefined ? shown : `${shown}:${rawPort}`,
  };
}

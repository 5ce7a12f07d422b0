import { chmodSync } from "node:fs";
import { mkdir, unlink } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest, ServerHttp2Session } from "node:http2";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import type { Duplex } from "node:stream";
import { createSystemClock } from "../../../kit/clock.ts";
import { messageOf, OutsideError } from "../../../kit/errors.ts";
import { NEVER_ABORTED, withTimeout } from "../../../kit/within.ts";
import { ClientCertificates } from "./client-certificates.ts";
import { NodeExchange, type PlainResponse, type Switching } from "./exchange.ts";
import type { HttpListener, Listen, ListenAddress, ListenOptions, TlsMaterial } from "./listen.ts";
import { HEALTH_LIMITS, type KnownConnections, PeerGate, type PeerPlace } from "./peer-gate.ts";
import {
  createProtocolServer,
  endWhenIdle,
  limitNext,
  type ProtocolServer,
  widenSession,
} from "./protocol-server.ts";
import { secureContextOptions } from "./tls-options.ts";

const SOCKET_FOLDER_MODE = 0o700;
const SOCKET_MODE = 0o600;
/** Requests in progress get this long to finish when a listener closes. */
const CLOSE_WITHIN_MS = 1_000;
/** Silence on a connection after which the kernel asks whether the peer is still there. */
const KEEP_ALIVE_MS = 30_000;

/**
 * Listening on this machine; `gate` bounds what the peers of all listeners may cost before they authenticate, `healthGate`
 * what those may that ask for health checks only.
 */
export function createListen(
  gate: PeerGate = new PeerGate(),
  healthGate: PeerGate = new PeerGate(HEALTH_LIMITS),
): Listen {
  return async (options) => {
    const listener = new NodeListener(options, options.forHealthChecks ? healthGate : gate);
    await listener.open();
    return listener;
  };
}

type AnyRequest = IncomingMessage | Http2ServerRequest;

/** A connection, from when the kernel has accepted it. */
interface Connection {
  readonly socket: Socket;
  place?: PeerPlace;
  session?: ServerHttp2Session;
}

class NodeListener implements HttpListener {
  readonly #options: ListenOptions;
  readonly #gate: PeerGate;
  readonly #known: KnownConnections;
  /** Accepts; a connection is read once the gate admits it. */
  readonly #front: Server;
  readonly #protocol: ProtocolServer;
  readonly #connections = new Map<string | Socket, Connection>();
  readonly #exchanges = new Map<NodeExchange, Promise<void>>();
  readonly #clients: ClientCertificates;
  #address: ListenAddress;
  #closed: Promise<void> | undefined;

  constructor(options: ListenOptions, gate: PeerGate) {
    this.#options = options;
    this.#gate = gate;
    this.#known = { limit: options.limits.connections, places: new Map() };
    this.#address = options.address;
    this.#clients = new ClientCertificates(options.tls?.material.clientAuthoritiesPem);
    this.#front = createServer({
      pauseOnConnect: true,
      allowHalfOpen: options.tls === undefined,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    });
    this.#front.on("connection", (socket) => this.#accept(socket));
    this.#protocol = createProtocolServer(options);
    this.#listenForEvents();
  }

  get address(): ListenAddress {
    return this.#address;
  }

  async open(): Promise<void> {
    const { address } = this.#options;
    if (address.kind === "tcp") {
      await listening(this.#front, { host: address.host, port: address.port });
      const { port } = this.#front.address() as AddressInfo;
      this.#address = { ...address, port };
      return;
    }
    await mkdir(dirname(address.path), { recursive: true, mode: SOCKET_FOLDER_MODE });
    if (await isAnswered(address.path)) throw inUse(address.path);
    await unlink(address.path).catch(() => {});
    await listening(this.#front, { path: address.path });
    chmodSync(address.path, SOCKET_MODE);
  }

  setTls(material: TlsMaterial): void {
    const { tls } = this.#options;
    if (!tls || !("setSecureContext" in this.#protocol))
      throw new OutsideError("invalid", "this listener does not speak TLS");
    this.#protocol.setSecureContext(secureContextOptions(material, tls.settings));
    this.#clients.trust(material.clientAuthoritiesPem);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#front.close(() => resolve());
    });
    // It never listened, but its timers must be cleared.
    this.#protocol.close();
    for (const exchange of this.#exchanges.keys()) exchange.cancel("the server is closing");
    const timeout = { clock: createSystemClock(), ms: CLOSE_WITHIN_MS };
    await withTimeout(timeout, NEVER_ABORTED, () => Promise.allSettled(this.#exchanges.values()));
    for (const { socket } of this.#connections.values()) socket.destroy();
    await closed;
  }

  /** Handles events of the protocol server on connections handed to it. */
  #listenForEvents(): void {
    // The overloads of three kinds of servers have no common one, though all emit the same.
    const events = this.#protocol as NodeJS.EventEmitter;
    // Before the server itself, which takes its limits then.
    events.prependListener("secureConnection", (socket: Socket) => this.#secured(socket));
    events.on("session", (session: ServerHttp2Session) => this.#begun(session));
    events.on("request", (request: AnyRequest, response: PlainResponse) =>
      this.#take(request, { response }),
    );
    events.on("upgrade", (request: IncomingMessage, socket: Duplex, early: Buffer) =>
      this.#take(request, { switching: { socket, early } }),
    );
    events.on("clientError", (error: Error, socket: Duplex) => this.#refuse(error, socket));
    // A protocol error of a peer ends its connection only.
    events.on("sessionError", (error: Error) =>
      this.#options.onProblem({ kind: "request", peer: "", error }),
    );
  }

  #accept(socket: Socket): void {
    const isLocal = this.#options.address.kind === "unix";
    // Without an address it was over before it was taken.
    if (!isLocal && socket.remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    const key = this.#keyOf(socket);
    const connection: Connection = { socket };
    this.#connections.set(key, connection);
    // Readers of the body get the error too.
    socket.on("error", () => {});
    const peer = peerOf(socket);
    const events = {
      onAdmit: () => this.#admit(socket),
      hasSpoken: () => socket.bytesRead > 0,
      onClose: (rule: string) => {
        this.#options.onProblem({ kind: "request", peer, error: rule });
        socket.destroy();
      },
    };
    const place = isLocal
      ? this.#gate.enterKnown(this.#known, events)
      : this.#gate.enter(socket.remoteAddress ?? "", this.#known, events);
    connection.place = place;
    socket.once("close", () => {
      place.leave();
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    });
  }

  #admit(socket: Socket): void {
    if (!this.#options.tls)
      limitNext(this.#protocol, this.#options.address.kind === "unix", this.#options.limits);
    this.#protocol.emit("connection", socket);
    if (!this.#options.tls) socket.resume();
  }

  /** A handshake is done: who has shown a good certificate is known from now on. */
  #secured(socket: Socket): void {
    const place = this.#find(socket)?.place;
    if (this.#clients.judge(socket).kind === "verified") place?.authenticate();
    else place?.ready();
    limitNext(this.#protocol, place?.authenticated === true, this.#options.limits);
  }

  #begun(session: ServerHttp2Session): void {
    const connection = session.socket && this.#find(session.socket);
    if (connection) connection.session = session;
    endWhenIdle(session, this.#options.limits.idleMs);
  }

  #find(socket: Socket): Connection | undefined {
    return this.#connections.get(this.#keyOf(socket));
  }

  /** TLS and HTTP/2 show sockets of their own, with the addresses of the one that was accepted. */
  #keyOf(socket: Socket): string | Socket {
    if (!this.#options.tls) return socket;
    const { remoteAddress, remotePort, localAddress } = socket;
    return `${remoteAddress} ${remotePort} ${localAddress}`;
  }

  #authenticate(connection: Connection | undefined): void {
    if (!connection?.place || connection.place.authenticated) return;
    connection.place.authenticate();
    if (connection.session) widenSession(connection.session, this.#options.limits);
  }

  #take(
    request: AnyRequest,
    way: { readonly response?: PlainResponse; readonly switching?: Switching },
  ): void {
    const connection = this.#find(request.socket);
    const exchange = new NodeExchange({
      request,
      ...way,
      client: this.#clients.judge(request.socket),
      peer: peerOf(request.socket),
      stalledMs: this.#options.limits.stalledMs,
      onAuthenticated: () => this.#authenticate(connection),
    });
    const end = connection?.place?.begin(headerBytes(request));
    const answered = this.#answer(exchange).finally(() => {
      this.#exchanges.delete(exchange);
      end?.();
    });
    this.#exchanges.set(exchange, answered);
    if (this.#closed !== undefined) exchange.cancel("the server is closing");
  }

  async #answer(exchange: NodeExchange): Promise<void> {
    try {
      await this.#options.onExchange(exchange);
      if (exchange.status === undefined && !exchange.signal.aborted)
        throw new Error(`no response was sent to the ${exchange.method} request`);
    } catch (error) {
      if (exchange.signal.aborted) return;
      this.#options.onProblem({ kind: "answer", peer: exchange.peer, error });
      if (exchange.status !== undefined) exchange.cut();
      else await exchange.reply(500, PLAIN, "Internal Server Error\n").catch(() => exchange.cut());
    }
  }

  /** Answers what is not HTTP, too large or too slow, as far as the connection still takes an answer. */
  #refuse(error: Error & { code?: string }, socket: Duplex): void {
    const peer = "remoteAddress" in socket ? peerOf(socket as Socket) : "";
    const kind = /^ERR_(SSL|TLS)_/.test(error.code ?? "") ? "handshake" : "request";
    this.#options.onProblem({ kind, peer, error });
    if (!socket.writable || kind === "handshake" || error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    socket.end(
      `HTTP/1.1 ${REFUSALS[error.code ?? ""] ?? "400 Bad Request"}\r\nConnection: close\r\n\r\n`,
    );
    setTimeout(() => socket.destroy(), CLOSE_WITHIN_MS).unref();
  }
}

const PLAIN = { "content-type": "text/plain; charset=utf-8" };

const REFUSALS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** The bytes of a request's target and headers. */
function headerBytes(request: AnyRequest): number {
  const texts = [request.url ?? "", ...request.rawHeaders];
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function peerOf(socket: Socket): string {
  const { remoteAddress, remotePort } = socket;
  if (remoteAddress === undefined) return "unix";
  return remoteAddress.includes(":")
    ? `[${remoteAddress}]:${remotePort}`
    : `${remoteAddress}:${remotePort}`;
}

function listening(
  server: Server,
  where: { readonly path: string } | { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error & { code?: string }) => {
      const shown = "path" in where ? where.path : `${where.host}:${where.port}`;
      reject(
        error.code === "EADDRINUSE"
          ? inUse(shown)
          : new OutsideError("io", `listen on ${shown}: ${messageOf(error)}`, { cause: error }),
      );
    };
    server.once("error", onError);
    server.listen({ ...where }, () => {
      server.off("error", onError);
      server.on("error", () => {});
      resolve();
    });
  });
}

function inUse(shown: string): OutsideError {
  return new OutsideError("alreadyExists", `listen on ${shown}: address already in use`);
}

/** Whether a process still listens on the unix socket. */
function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const done = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.once("connect", () => done(true));
    socket.once("error", () => done(false));
  });
}

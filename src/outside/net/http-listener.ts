import { chmodSync } from "node:fs";
import { mkdir, unlink } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createSecureServer, type Http2SecureServer, type Http2ServerRequest } from "node:http2";
import { createServer as createTlsServer, type Server as TlsHttpServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { dirname } from "node:path";
import type { Duplex } from "node:stream";
import { messageOf, OutsideError } from "../../kit/errors.ts";
import { ClientCertificates } from "./client-certificates.ts";
import { NodeExchange, type PlainResponse, type Switching } from "./exchange.ts";
import type { HttpListener, Listen, ListenAddress, ListenOptions, TlsMaterial } from "./listen.ts";
import { secureContextOptions } from "./tls-options.ts";

const SOCKET_FOLDER_MODE = 0o700;
const SOCKET_MODE = 0o600;
/** What is being answered when a listener closes gets this long to end. */
const CLOSE_WITHIN_MS = 1_000;
/** How often Node looks for requests that take too long. */
const LOOK_EVERY_MS = 1_000;
/** Silence on a connection after which the kernel asks whether the peer is still there. */
const KEEP_ALIVE_MS = 30_000;
/** Requests that one connection may have under way over HTTP/2, as Go's server has it. */
const MAX_STREAMS = 250;

type AnyServer = Server | TlsHttpServer | Http2SecureServer;

/** Listens on this machine. */
export const listenHttp: Listen = async (options) => {
  const listener = new NodeListener(options);
  await listener.open();
  return listener;
};

type AnyRequest = IncomingMessage | Http2ServerRequest;

class NodeListener implements HttpListener {
  readonly #options: ListenOptions;
  readonly #server: AnyServer;
  readonly #sockets = new Set<Socket>();
  readonly #exchanges = new Map<NodeExchange, Promise<void>>();
  readonly #clients: ClientCertificates;
  #address: ListenAddress;
  #closed: Promise<void> | undefined;

  constructor(options: ListenOptions) {
    this.#options = options;
    this.#address = options.address;
    this.#clients = new ClientCertificates(options.tls?.material.clientAuthoritiesPem);
    this.#server = this.#createServer();
    this.#server.maxConnections = options.limits.connections;
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("secureConnection", (socket: Socket) => this.#clients.judge(socket));
    // The overloads of three kinds of servers have no common one, though all emit the same.
    const events = this.#server as NodeJS.EventEmitter;
    events.on("request", (request: AnyRequest, response: PlainResponse) =>
      this.#take(request, { response }),
    );
    events.on("upgrade", (request: IncomingMessage, socket: Duplex, early: Buffer) =>
      this.#take(request, { switching: { socket, early } }),
    );
    events.on("clientError", (error: Error, socket: Duplex) => this.#refuse(error, socket));
    // What a peer does wrong with HTTP/2 ends its connection and nothing else.
    events.on("sessionError", (error: Error) =>
      this.#options.onProblem({ kind: "request", peer: "", error }),
    );
  }

  get address(): ListenAddress {
    return this.#address;
  }

  async open(): Promise<void> {
    const { address } = this.#options;
    if (address.kind === "tcp") {
      await listening(this.#server, { host: address.host, port: address.port });
      const { port } = this.#server.address() as AddressInfo;
      this.#address = { ...address, port };
      return;
    }
    await mkdir(dirname(address.path), { recursive: true, mode: SOCKET_FOLDER_MODE });
    if (await isAnswered(address.path)) throw inUse(address.path);
    await unlink(address.path).catch(() => {});
    await listening(this.#server, { path: address.path });
    chmodSync(address.path, SOCKET_MODE);
  }

  setTls(material: TlsMaterial): void {
    const { tls } = this.#options;
    if (!tls || !("setSecureContext" in this.#server))
      throw new OutsideError("invalid", "this listener does not speak TLS");
    this.#server.setSecureContext(secureContextOptions(material, tls.settings));
    this.#clients.trust(material.clientAuthoritiesPem);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    if ("closeIdleConnections" in this.#server) this.#server.closeIdleConnections();
    for (const exchange of this.#exchanges.keys()) exchange.cancel("the server is closing");
    await settledWithin([...this.#exchanges.values()], CLOSE_WITHIN_MS);
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #createServer(): AnyServer {
    const { limits, tls, mayUpgrade, http2 } = this.#options;
    const common = {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headerMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: LOOK_EVERY_MS,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
      noDelay: true,
      shouldUpgradeCallback: (request: IncomingMessage) =>
        mayUpgrade(request.method ?? "", request.url ?? ""),
    };
    if (!tls) return createServer(common);
    const secure = {
      ...common,
      ...secureContextOptions(tls.material, tls.settings),
      handshakeTimeout: limits.handshakeMs,
      requestCert: tls.material.clientAuthoritiesPem !== undefined,
      rejectUnauthorized: false,
    };
    if (http2 !== true) return createTlsServer({ ...secure, ALPNProtocols: ["http/1.1"] });
    return createSecureServer({
      ...secure,
      allowHTTP1: true,
      settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: limits.headerBytes },
    });
  }

  #take(
    request: AnyRequest,
    way: { readonly response?: PlainResponse; readonly switching?: Switching },
  ): void {
    const exchange = new NodeExchange({
      request,
      ...way,
      client: this.#clients.judge(request.socket),
      peer: peerOf(request.socket),
      stalledMs: this.#options.limits.stalledMs,
    });
    const answered = this.#answer(exchange).finally(() => this.#exchanges.delete(exchange));
    this.#exchanges.set(exchange, answered);
    if (this.#closed !== undefined) exchange.cancel("the server is closing");
  }

  async #answer(exchange: NodeExchange): Promise<void> {
    try {
      await this.#options.onExchange(exchange);
      if (exchange.status === undefined && !exchange.signal.aborted)
        throw new Error(`nothing answered ${exchange.method} request`);
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

function peerOf(socket: Socket): string {
  const { remoteAddress, remotePort } = socket;
  if (remoteAddress === undefined) return "unix";
  return remoteAddress.includes(":")
    ? `[${remoteAddress}]:${remotePort}`
    : `${remoteAddress}:${remotePort}`;
}

function listening(
  server: AnyServer,
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
  return new OutsideError("alreadyExists", `listen on ${shown}: somebody else listens there`);
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

async function settledWithin(work: readonly Promise<void>[], ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.allSettled(work), late]);
  clearTimeout(timer);
}

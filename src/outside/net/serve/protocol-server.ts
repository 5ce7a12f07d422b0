/** Node's servers of HTTP, which get connections that the listener accepted. */
import { createServer, type IncomingMessage, type Server } from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type Settings,
} from "node:http2";
import { createServer as createTlsServer, type Server as TlsHttpServer } from "node:https";
import { deadline } from "../deadlines.ts";
import type { ListenLimits, ListenOptions } from "./listen.ts";
import { UNKNOWN_HEADER_BYTES, UNKNOWN_STREAMS } from "./peer-gate.ts";
import { secureContextOptions } from "./tls-options.ts";

/**
 * How often Node checks for request timeouts within the shortest of them: requests are ended so much later at most. It
 * checks whether there are connections or not, which wakes an agent at rest.
 */
const CHECKS_PER_TIMEOUT = 6;
/** Requests that one connection may have under way over HTTP/2, as Go's server has it. */
const MAX_STREAMS = 250;

/** A server of HTTP/1, with or without TLS, or of both versions. */
export type ProtocolServer = Server | TlsHttpServer | Http2SecureServer;

/** A server that does not listen: connections reach it as `connection` events. */
export function createProtocolServer(options: ListenOptions): ProtocolServer {
  const server = create(options);
  // From this event on Node checks for request timeouts.
  server.emit("listening");
  return server;
}

function create({ limits, tls, mayUpgrade, http2 }: ListenOptions): ProtocolServer {
  const shouldUpgradeCallback = (request: IncomingMessage) =>
    mayUpgrade(request.method ?? "", request.url ?? "");
  const common = {
    maxHeaderSize: headerBytesFor(false, limits),
    headersTimeout: limits.headerMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: Math.ceil(
      Math.min(limits.headerMs, limits.requestMs) / CHECKS_PER_TIMEOUT,
    ),
    shouldUpgradeCallback,
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
  const settings = settingsFor(false, limits);
  const server = createSecureServer({ ...secure, allowHTTP1: true, settings });
  // With HTTP/2 the option is not taken.
  return Object.assign(server, { shouldUpgradeCallback });
}

/**
 * Sets what the next connection that the server begins to read may send. Headers of any peer are bounded, those of
 * one that has not authenticated more tightly; what a connection begins with stays its limit over HTTP/1.
 */
export function limitNext(server: ProtocolServer, known: boolean, limits: ListenLimits): void {
  Object.assign(server, { maxHeaderSize: headerBytesFor(known, limits) });
  if ("updateSettings" in server) server.updateSettings(settingsFor(known, limits));
}

/** Lets an open session do what those of authenticated peers may. */
export function widenSession(session: ServerHttp2Session, limits: ListenLimits): void {
  if (!session.destroyed && !session.closed) session.settings(settingsFor(true, limits));
}

function settingsFor(known: boolean, limits: ListenLimits): Settings {
  return {
    maxConcurrentStreams: known ? MAX_STREAMS : UNKNOWN_STREAMS,
    maxHeaderListSize: headerBytesFor(known, limits),
  };
}

function headerBytesFor(known: boolean, { headerBytes }: ListenLimits): number {
  return known ? headerBytes : Math.min(UNKNOWN_HEADER_BYTES, headerBytes);
}

/** Ends a session (GOAWAY) that had no stream for `idleMs`. Pings and the like do not count as use. */
export function endWhenIdle(session: ServerHttp2Session, idleMs: number): void {
  let open = 0;
  const wait = () => deadline(idleMs, () => session.close());
  let cancel = wait();
  session.on("stream", (stream) => {
    cancel();
    open += 1;
    stream.once("close", () => {
      open -= 1;
      if (open === 0 && !session.destroyed) cancel = wait();
    });
  });
  session.once("close", () => cancel());
}

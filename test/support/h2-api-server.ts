/** API servers over TLS for tests of the transport: Node's HTTP/2, or frames that a test writes itself. */
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer, type TLSSocket, type TlsOptions } from "node:tls";
import { type Clock, createSystemClock } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { silentLog } from "../../src/kit/log.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import { frame, Http2FrameReader, PREFACE } from "../../src/outside/http2/frames.ts";
import { connectKube } from "../../src/outside/kube/connect-kube.ts";
import type { ApiTransport, Credentials } from "../../src/outside/kube/kube.ts";
import type { ApiRequest, ApiWatchReply } from "../../src/outside/kube/transport/transport.ts";
import { TEST_CERTIFICATE } from "../probes/certificate.ts";
import { listen } from "../probes/sockets.ts";
import { blockOf, type SeenFrame, word } from "./http2-peer.ts";

/** Frames of a server. */
export const SERVER_FRAMES = {
  headers: (streamId: number, fields: Readonly<Record<string, string>> = {}, flags = 4) =>
    frame(1, flags, streamId, blockOf({ ":status": "200", ...fields })),
  data: (streamId: number, text: string, isLast = false) =>
    frame(0, isLast ? 1 : 0, streamId, Buffer.from(text)),
  goAway: (last: number) => frame(7, 0, 0, Buffer.concat([word(last), word(0)])),
  reset: (streamId: number, code: number) => frame(3, 0, streamId, word(code)),
} as const;

/** A signal that is never aborted. */
export const NO_ABORT: AbortSignal = new AbortController().signal;
/** A watch that goes on for the length of a test. */
export const ENDLESS = { path: "/watch", timeoutMs: 20_000, lifetimeMs: 60_000 } as const;

/** A request of this path. */
export function apiGet(path: string): ApiRequest {
  return { method: "GET", path, timeoutMs: 20_000 };
}

/** Whether an error is an `OutsideError` of this code, with such a message. */
export function failsWith(code: string, message = /./): (error: unknown) => boolean {
  return (error) =>
    error instanceof OutsideError && error.code === code && message.test(error.message);
}

/** The lines of a watch that was not refused. */
export function linesOf(reply: ApiWatchReply): AsyncIterator<string> {
  if (reply.kind !== "stream") throw new Error(`refused with ${reply.reply.status}`);
  return reply.lines[Symbol.asyncIterator]();
}

/** Servers, connections and clients of one test. */
export class ApiWorld implements Disposable {
  readonly #closing: (() => void)[] = [];

  /** A client of the server on this port. */
  connect(
    port: number,
    { clock = createSystemClock(), credentials = {} }: ClientOptions = {},
  ): ApiTransport {
    const transport = connectKube({
      clock,
      random: createSystemRandom(),
      log: silentLog,
      userAgent: "nodelet-test",
    }).connect({
      server: `https://127.0.0.1:${port}/prefix/`,
      authoritiesPem: TEST_CERTIFICATE.cert,
      serverName: "probe.test",
      credentials,
    });
    this.#closing.push(() => transport.close());
    return transport;
  }

  /** Node's server; the result is its port. */
  async serve(
    answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, body: Buffer) => void,
    onServer: (server: Http2SecureServer) => void = () => {},
  ): Promise<number> {
    const server = createSecureServer(TEST_CERTIFICATE);
    onServer(server);
    server.on("session", (session) => {
      session.on("error", () => {});
      this.#closing.push(() => session.destroy());
    });
    server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      const parts: Buffer[] = [];
      stream.on("error", () => {});
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", () => answer(stream, headers, Buffer.concat(parts)));
    });
    this.#closing.push(() => server.close());
    return await listen(server);
  }

  /** A server that sends what the test sets; `onPeer` gets each connection. */
  async script(onPeer: (peer: ScriptedPeer) => void, options: TlsOptions = {}): Promise<number> {
    const tls = { ...TEST_CERTIFICATE, ALPNProtocols: ["h2"], ...options };
    const server = createServer(tls, (socket) => {
      this.#closing.push(() => socket.destroy());
      onPeer(new ScriptedPeer(socket));
    });
    this.#closing.push(() => server.close());
    return await listen(server);
  }

  [Symbol.dispose](): void {
    for (const close of this.#closing) close();
  }
}

interface ClientOptions {
  readonly clock?: Clock;
  readonly credentials?: Credentials;
}

/** The server's side of one connection. SETTINGS have been sent. */
export class ScriptedPeer {
  readonly socket: TLSSocket;
  readonly closed: Promise<void>;
  readonly #frames: SeenFrame[] = [];
  readonly #waiting: { readonly type: number; readonly seen: (frame: SeenFrame) => void }[] = [];

  constructor(socket: TLSSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("error", () => {});
    const reader = new Http2FrameReader({
      frame: (type, flags, streamId, payload) =>
        this.#see({ type, flags, streamId, payload: Buffer.from(payload) }),
    });
    let preface = PREFACE.length;
    socket.on("data", (piece: Buffer) => {
      const from = Math.min(preface, piece.length);
      preface -= from;
      reader.push(piece.subarray(from));
    });
    this.send(frame(4, 0, 0));
  }

  send(...frames: readonly Uint8Array[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  /** The next frame of this type that nobody has asked for. */
  next(type: number): Promise<SeenFrame> {
    const at = this.#frames.findIndex((each) => each.type === type);
    const [had] = at < 0 ? [] : this.#frames.splice(at, 1);
    if (had) return Promise.resolve(had);
    return new Promise((seen) => this.#waiting.push({ type, seen }));
  }

  /** Whether a frame of this type has come that nobody has asked for. */
  has(type: number): boolean {
    return this.#frames.some((each) => each.type === type);
  }

  #see(seen: SeenFrame): void {
    const at = this.#waiting.findIndex(({ type }) => type === seen.type);
    const [waiting] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (waiting) waiting.seen(seen);
    else this.#frames.push(seen);
  }
}

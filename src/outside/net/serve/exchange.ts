import { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest } from "node:http2";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { InvariantError, OutsideError } from "../../../kit/errors.ts";
import { timerMs } from "../../../kit/timing/bounded-durations.ts";
import { shortText } from "../short-text.ts";
import type { CommandStreams } from "../streams/remote-command.ts";
import {
  endThenDestroy,
  joinSockets,
  loopbackUrl,
  requestUpgrade,
  type SwitchTarget,
  spdyUpgradeRequest,
  type UpgradeAnswer,
  upgradeRequestOf,
} from "../streams/upgrade-proxy.ts";
import { acceptWebSocket } from "../streams/web-socket.ts";
import { type SpdyPeer, translateCommand } from "../streams/web-socket-command.ts";
import { joinTunnel } from "../streams/web-socket-tunnel.ts";
import { passedBack, requestOverSocket } from "./forward.ts";
import type {
  ClientCertificate,
  Exchange,
  ForwardTarget,
  ReplyHeaders,
  ReplyStream,
} from "./listen.ts";

/** SPDY subprotocol of remote commands. */
const COMMAND_PROTOCOL = "v4.channel.k8s.io";

/** The connection of a request that asks to switch protocols; Node no longer reads it as HTTP. */
export interface Switching {
  readonly socket: Duplex;
  readonly early: Buffer;
}

/** Common part of HTTP/1.1 and HTTP/2 responses. */
export interface PlainResponse {
  statusCode: number;
  readonly destroyed?: boolean;
  setHeader(name: string, value: string | number): unknown;
  flushHeaders(): void;
  write(chunk: Uint8Array | string): boolean;
  end(content: Uint8Array | undefined, onWritten: () => void): unknown;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

/** Parts of an exchange. */
interface ExchangeParts {
  readonly request: IncomingMessage | Http2ServerRequest;
  /** Of a plain request; one that switches gets an answer of its own when it needs it. */
  readonly response?: PlainResponse;
  readonly switching?: Switching;
  readonly client: ClientCertificate;
  readonly peer: string;
  readonly stalledMs: number;
  /** The peer has proved who it is. */
  readonly onAuthenticated: () => void;
}

/** A request of Node's server as the rest of the agent sees it. */
export class NodeExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: Exchange["headers"];
  readonly peer: string;
  readonly client: ClientCertificate;
  readonly upgrade: string | undefined;
  readonly #request: IncomingMessage | Http2ServerRequest;
  readonly #switching: Switching | undefined;
  readonly #stalledMs: number;
  readonly #onAuthenticated: () => void;
  readonly #abort = new AbortController();
  #response: PlainResponse | undefined;
  #answered = false;
  #switched = false;

  constructor(parts: ExchangeParts) {
    const { request, switching } = parts;
    this.method = request.method ?? "";
    this.target = request.url ?? "";
    this.headers = joinedHeaders(request);
    this.peer = parts.peer;
    this.client = parts.client;
    this.upgrade = switching ? (request.headers.upgrade ?? "").toLowerCase() : undefined;
    this.#request = request;
    this.#switching = switching;
    this.#stalledMs = parts.stalledMs;
    this.#onAuthenticated = parts.onAuthenticated;
    this.#response = parts.response;
    // Of a plain request the connection may serve others after it; its response ends with either.
    parts.response?.once("close", () => this.cancel("the exchange is over"));
    switching?.socket.once("close", () => this.cancel("the peer is gone"));
    switching?.socket.on("error", () => this.cancel("the peer is gone"));
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get status(): number | undefined {
    if (this.#switched) return 101;
    return this.#answered ? this.#response?.statusCode : undefined;
  }

  authenticated(): void {
    this.#onAuthenticated();
  }

  /** Ends what is still under way. */
  cancel(why: string): void {
    if (!this.#abort.signal.aborted) this.#abort.abort(new OutsideError("aborted", why));
  }

  /** Cuts the connection, where an answer was begun and cannot be finished. */
  cut(): void {
    // Over HTTP/2 the connection serves others too.
    if ("stream" in this.#request) this.#request.stream.destroy();
    else this.#request.socket.destroy();
  }

  async readBody(maxBytes: number): Promise<Uint8Array> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of this.#request as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxBytes) break;
        chunks.push(chunk);
      }
    } catch (error) {
      throw new OutsideError("aborted", "the peer is gone", { cause: error });
    }
    if (size > maxBytes) {
      const message = `the request's body is longer than ${maxBytes} bytes`;
      throw new OutsideError("exhausted", message, { retryable: false });
    }
    return Buffer.concat(chunks, size);
  }

  async reply(status: number, headers: ReplyHeaders, body?: string | Uint8Array): Promise<void> {
    const response = this.#begin(status, headers);
    const content = typeof body === "string" ? Buffer.from(body) : body;
    if (status !== 204 && status !== 304)
      response.setHeader("content-length", content?.length ?? 0);
    await this.#ending(response, content);
  }

  replyStream(status: number, headers: ReplyHeaders): ReplyStream {
    const response = this.#begin(status, headers);
    response.flushHeaders();
    return {
      write: async (chunk) => {
        this.signal.throwIfAborted();
        if (chunk.length === 0 || response.write(chunk)) return;
        await this.#bounded((done) => {
          response.once("drain", done);
          return () => response.off("drain", done);
        });
      },
      end: () => this.#ending(response, undefined),
    };
  }

  async proxyUpgrade(url: string, idleMs: number): Promise<void> {
    await this.#switch({ url: loopbackUrl(url) }, idleMs);
  }

  async proxyCommand(url: string, streams: CommandStreams, idleMs: number): Promise<void> {
    const target = { url: loopbackUrl(url) };
    const webSocket = await this.#accept("v5.channel.k8s.io", idleMs);
    if (!webSocket) return;
    const dial = async (): Promise<SpdyPeer> => {
      const answer = await requestUpgrade(
        target,
        spdyUpgradeRequest([COMMAND_PROTOCOL]),
        this.signal,
      );
      if (answer.kind === "refused")
        throw new OutsideError("unavailable", `unable to upgrade connection: ${answer.text}`);
      checkSpdy(answer);
      return answer;
    };
    await translateCommand(webSocket, streams, dial, this.signal);
  }

  async proxyTunnel(
    url: string,
    streamProtocols: readonly string[],
    idleMs: number,
  ): Promise<void> {
    const target = { url: loopbackUrl(url) };
    const answer = await requestUpgrade(target, spdyUpgradeRequest(streamProtocols), this.signal);
    if (answer.kind === "refused") return this.#refuse(answer);
    checkSpdy(answer);
    const webSocket = await this.#accept(`SPDY/3.1+${answer.streamProtocol ?? ""}`, idleMs);
    if (webSocket) await joinTunnel(webSocket, answer, this.signal);
    else answer.socket.destroy();
  }

  async forward(target: ForwardTarget, idleMs: number): Promise<void> {
    const { socketPath, path, refusal } = target;
    if (this.#switching) {
      await this.#switch({ url: new URL(path, "http://localhost"), socketPath }, idleMs);
      return;
    }
    const answer = await requestOverSocket(target, this.#request, this.signal);
    if (refusal && (answer.statusCode ?? 0) >= 400) {
      const refused = refusal(answer.statusCode ?? 0, await shortText(answer));
      await this.reply(refused.status, { "content-type": refused.contentType }, refused.body);
      return;
    }
    const stream = this.replyStream(answer.statusCode ?? 502, passedBack(answer));
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) await stream.write(chunk);
    } catch {
      this.cut();
      return;
    } finally {
      answer.destroy();
    }
    await stream.end();
  }

  /** Accepts the client's WebSocket upgrade; `undefined` when the request was invalid and is answered. */
  async #accept(protocol: string, idleMs: number): Promise<WebSocket | undefined> {
    const { request, switching } = this.#asSwitching();
    const accepted = await acceptWebSocket(request, switching, protocol);
    if (accepted.kind === "refused") {
      await this.#refuse({ status: 400, text: `${accepted.why}\n` });
      return undefined;
    }
    this.#answered = true;
    this.#switched = true;
    const { socket } = switching;
    if (socket instanceof Socket) {
      socket.setNoDelay(true);
      if (idleMs > 0) socket.setTimeout(timerMs(idleMs), () => socket.destroy());
    }
    return accepted.webSocket;
  }

  #refuse({ status, text }: { readonly status: number; readonly text: string }): Promise<void> {
    return this.reply(status, { "content-type": "text/plain; charset=utf-8" }, text);
  }

  #asSwitching(): { readonly request: IncomingMessage; readonly switching: Switching } {
    const [request, switching] = [this.#request, this.#switching];
    if (!switching || this.#answered || !(request instanceof IncomingMessage))
      throw new InvariantError("this exchange cannot switch protocols");
    return { request, switching };
  }

  async #switch(target: SwitchTarget, idleMs: number): Promise<void> {
    const { request, switching } = this.#asSwitching();
    const { socket, early } = switching;
    const answer = await requestUpgrade(target, upgradeRequestOf(request), this.signal);
    if (answer.kind === "refused") return this.#refuse(answer);
    this.#answered = true;
    this.#switched = true;
    if (socket instanceof Socket) socket.setNoDelay(true);
    if (answer.socket instanceof Socket) answer.socket.setNoDelay(true);
    socket.write(`${answer.head}\r\n`);
    if (answer.early.length > 0) socket.write(answer.early);
    if (early.length > 0) answer.socket.write(early);
    await joinSockets(socket, answer.socket, { idleMs, signal: this.signal });
  }

  #begin(status: number, headers: ReplyHeaders): PlainResponse {
    if (this.#answered) throw new InvariantError("a request is answered once only");
    this.#answered = true;
    const response = this.#response ?? this.#responseOnSocket();
    this.#response = response;
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    return response;
  }

  /** A plain answer to an upgrade request; the connection is good for nothing after. */
  #responseOnSocket(): ServerResponse {
    const socket = this.#switching?.socket;
    if (!(socket instanceof Socket) || !(this.#request instanceof IncomingMessage))
      throw new InvariantError("an exchange without a connection");
    const response = new ServerResponse(this.#request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once("finish", () => {
      response.detachSocket(socket);
      endThenDestroy(socket);
    });
    return response;
  }

  async #ending(response: PlainResponse, content: Uint8Array | undefined): Promise<void> {
    if (response.destroyed || this.signal.aborted) return;
    await this.#bounded((done) => {
      response.once("close", done);
      response.end(content, done);
      return () => response.off("close", done);
    }).catch(() => {});
    this.#letGoOfBody();
  }

  /** A stream that was answered before its body had come is closed: the rest is not read. */
  #letGoOfBody(): void {
    const request = this.#request;
    if (!("stream" in request) || request.complete) return;
    setImmediate(() => {
      if (!request.stream.destroyed) request.stream.close(constants.NGHTTP2_NO_ERROR);
    });
  }

  /** Waits for the peer to take something; one that does not is cut. */
  #bounded(wait: (done: () => void) => () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.cancel("the peer does not read");
        this.cut();
      }, this.#stalledMs);
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        this.signal.removeEventListener("abort", onAbort);
        stop();
        finish();
      };
      const onAbort = () => settle(() => reject(this.signal.reason as Error));
      const stop = wait(() => settle(resolve));
      if (this.signal.aborted) onAbort();
      else this.signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

/** A streaming server that switches to something else is no use. */
function checkSpdy({ upgrade, socket }: Extract<UpgradeAnswer, { kind: "switched" }>): void {
  if (upgrade === "spdy/3.1") return;
  socket.destroy();
  throw new OutsideError("unavailable", "unable to upgrade: missing upgrade headers in response", {
    retryable: false,
  });
}

/** Headers by lower-case name. Of those that may come once only, Node has kept the first. */
function joinedHeaders(request: IncomingMessage | Http2ServerRequest): Exchange["headers"] {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers[name] = typeof value === "string" ? value : value.join(", ");
  }
  return headers;
}

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  type OutgoingHttpHeaders,
} from "node:http2";
import { connect as connectSocket, type Socket } from "node:net";
import { retryDelayMs } from "../../kit/backoff.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import { messageOf } from "../../kit/errors.ts";
import { GrpcError } from "./status.ts";

/**
 * Whether the peer answers: `connecting` until the first connection and after a lost one, `broken` from
 * the first failed attempt until a connection stands again.
 */
export type GrpcLink = "connecting" | "ready" | "broken";

/** Address of the server. */
export interface GrpcTarget {
  /** `unix:///path` or `host:port`, without TLS. */
  readonly target: string;
  /** The `:authority` that is sent; for unix targets `localhost` by default. */
  readonly authority?: string;
}

/** Finds the peer again within 3 s of its return. */
const RECONNECT = { initialMs: 100, maxMs: 3000 };
/** Until a connection stands, the peer's SETTINGS included (gRPC's minimum). */
const DIAL_TIMEOUT_MS = 20_000;
/** A connection that is lost sooner counts as a failed attempt, so that a peer that hangs up is not dialled in a loop. */
const STABLE_MS = 1_000;
/** Bytes that may be under way to us on a connection, and of one stream. */
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024;
const STREAM_WINDOW_BYTES = 1024 * 1024;
const UNAVAILABLE = 14;

/** Told when the connection of a stream is lost, or when there will be none. */
export type OnLost = (error: GrpcError) => void;

/** A stream on the connection that stands; `release` must be called when it is over. */
export interface OpenedStream {
  readonly stream: ClientHttp2Stream;
  readonly release: () => void;
  /** Whether its connection still stands: streams of one that breaks are reset with any code. */
  readonly isConnected: () => boolean;
}

/** One connection, with the streams on it. */
interface Session {
  readonly http2: ClientHttp2Session;
  readonly socket: Socket;
  readonly streams: Set<OnLost>;
  readySinceMs: number | undefined;
  isOver: boolean;
}

/** A connection to one server that is made again whenever it breaks. It keeps no process alive, calls on it do. */
export class GrpcConnection {
  readonly authority: string;
  readonly #dialSocket: () => Socket;
  readonly #state = new Cell<GrpcLink>("connecting");
  /** Calls that wait for the first connection, or for the next after a lost one. */
  readonly #waiting = new Map<() => void, OnLost>();
  readonly #sessions = new Set<Session>();
  /** The one that takes streams, or is to take them. */
  #current: Session | undefined;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #lastError = new GrpcError(UNAVAILABLE, "no connection");
  #isClosed = false;

  constructor({ target, authority }: GrpcTarget) {
    const path = /^unix:(?:\/\/)?(.*)$/.exec(target)?.[1];
    this.authority = authority ?? (path === undefined ? target : "localhost");
    this.#dialSocket = () => connectSocket(path === undefined ? addressOf(target) : { path });
    this.#dial();
  }

  get state(): Reading<GrpcLink> {
    return this.#state;
  }

  /** Calls `ready` at once or when a connection stands, or `lost` when there is none. The result takes that back. */
  whenReady(ready: () => void, lost: OnLost): () => void {
    const state = this.#state.get();
    if (state === "ready") ready();
    else if (state === "broken") lost(this.#lastError);
    else {
      this.#waiting.set(ready, lost);
      this.#current?.socket.ref();
      this.#retry?.ref();
    }
    return () => void this.#waiting.delete(ready);
  }

  /** Opens a stream on the connection that stands. Throws `GrpcError` when it has just gone. */
  open(headers: OutgoingHttpHeaders, lost: OnLost): OpenedStream {
    const session = this.#current;
    if (!session) throw this.#lastError;
    let stream: ClientHttp2Stream;
    try {
      stream = session.http2.request(headers);
    } catch (error) {
      // Between the end of a connection and word of it, asking for a stream throws.
      throw unavailable(messageOf(error), error);
    }
    const { streams, socket } = session;
    if (streams.size === 0) socket.ref();
    streams.add(lost);
    const release = () => {
      if (streams.delete(lost) && streams.size === 0) socket.unref();
    };
    return { stream, release, isConnected: () => !session.isOver && !session.http2.destroyed };
  }

  /** Ends the connection; calls on it are told. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#lastError = unavailable("the client connection is closing");
    for (const session of this.#sessions) this.#end(session, this.#lastError);
    this.#breakOff(this.#lastError);
  }

  #dial(): void {
    const socket = this.#dialSocket();
    if (this.#waiting.size === 0) socket.unref();
    // Before the session's own listener, which resets the streams.
    socket.once("close", () => lost());
    const http2 = connectHttp2("http://localhost", {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    const session: Session = {
      http2,
      socket,
      streams: new Set(),
      readySinceMs: undefined,
      isOver: false,
    };
    this.#current = session;
    this.#sessions.add(session);
    const timeout = setTimeout(
      () => this.#end(session, unavailable("no connection in time")),
      DIAL_TIMEOUT_MS,
    ).unref();
    http2.once("connect", () => http2.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
    http2.once("remoteSettings", () => {
      clearTimeout(timeout);
      if (!session.isOver) this.#ready(session);
    });
    http2.on("goaway", () => this.#replace(session));
    const lost = (error?: Error) => {
      clearTimeout(timeout);
      this.#end(session, lostBy(session, error));
    };
    http2.on("error", lost);
    http2.once("close", () => lost());
  }

  #ready(session: Session): void {
    session.readySinceMs = performance.now();
    this.#state.set("ready");
    const waiting = [...this.#waiting.keys()];
    this.#waiting.clear();
    for (const ready of waiting) ready();
    if (session.streams.size === 0) session.socket.unref();
  }

  /** The session takes no more streams; those on it go on. */
  #replace(session: Session): void {
    if (this.#current !== session) return;
    this.#current = undefined;
    if (this.#isClosed) return;
    const { readySinceMs } = session;
    if (readySinceMs !== undefined) {
      this.#failures = performance.now() - readySinceMs >= STABLE_MS ? 0 : 1;
      this.#state.set("connecting");
    } else {
      this.#failures += 1;
      this.#breakOff(this.#lastError);
    }
    if (this.#failures === 0) this.#dial();
    else {
      const pauseMs = retryDelayMs(this.#failures, RECONNECT) * (0.8 + Math.random() * 0.4);
      this.#retry = setTimeout(() => this.#dial(), pauseMs).unref();
    }
  }

  #end(session: Session, error: GrpcError): void {
    if (session.isOver) return;
    session.isOver = true;
    this.#sessions.delete(session);
    if (this.#current === session) this.#lastError = error;
    this.#replace(session);
    const streams = [...session.streams];
    session.streams.clear();
    for (const lost of streams) lost(error);
    // Never from within an event of the session or of its streams.
    setImmediate(() => {
      session.http2.destroy();
      session.socket.destroy();
    });
  }

  #breakOff(error: GrpcError): void {
    this.#state.set("broken");
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const lost of waiting) lost(error);
  }
}

function lostBy({ readySinceMs }: Session, error: Error | undefined): GrpcError {
  if (readySinceMs !== undefined)
    return unavailable(`error reading from server: ${error?.message ?? "EOF"}`, error);
  const why = error?.message ?? "the connection was closed";
  return unavailable(`connection error: desc = "transport: Error while dialing: ${why}"`, error);
}

function unavailable(details: string, cause?: unknown): GrpcError {
  return new GrpcError(UNAVAILABLE, details, cause);
}

function addressOf(target: string): { readonly host: string; readonly port: number } {
  const url = new URL(`http://${target}`);
  return { host: url.hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(url.port || 80) };
}

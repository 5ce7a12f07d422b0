import type { NetConnectOpts } from "node:net";
import { retryDelayMs } from "../../kit/backoff.ts";
import { Cell, type Reading } from "../../kit/cell.ts";
import { Http2Session } from "../http2/http2.ts";
import type { Http2Stream, StreamReceiver } from "../http2/stream.ts";
import { type GrpcRequestHead, RequestHeaderWriter } from "./request-headers.ts";
import { GRPC_STATUS, GrpcError } from "./status.ts";

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

/** Called when the connection of a call is lost, or cannot be made. */
type OnLost = (error: GrpcError) => void;

/** Receives what comes on a stream, and that the connection was lost. */
export interface CallReceiver extends StreamReceiver {
  readonly lost: OnLost;
}

/** One request; its body is not empty. */
interface LinkRequest {
  readonly head: GrpcRequestHead;
  readonly body: Uint8Array;
}

/** A stream on a connection that stands. */
export class OpenedStream {
  readonly #session: Http2Session;
  readonly #stream: Http2Stream;

  constructor(session: Http2Session, stream: Http2Stream) {
    this.#session = session;
    this.#stream = stream;
  }

  /** The server may send no more than the stream's window allows. */
  pause(): void {
    this.#session.http2.pause(this.#stream);
  }

  resume(): void {
    this.#session.http2.resume(this.#stream);
  }

  /** Ends the stream if it is not over; its receiver gets nothing more. */
  cancel(): void {
    this.#session.http2.cancel(this.#stream);
  }
}

/** One connection, and how it fared. */
interface Session {
  readonly http2: Http2Session;
  readonly timeout: NodeJS.Timeout;
  readySinceMs: number | undefined;
  isOver: boolean;
}

/** A connection to one server that is made again whenever it breaks. It keeps no process alive, calls on it do. */
export class GrpcConnection {
  readonly #address: NetConnectOpts;
  readonly #headers: RequestHeaderWriter;
  readonly #state = new Cell<GrpcLink>("connecting");
  /** Calls that wait for the first connection, or for the next after a lost one. */
  readonly #waiting = new Map<() => void, OnLost>();
  readonly #sessions = new Set<Session>();
  /** The one that takes streams, or is to take them. */
  #current: Session | undefined;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #lastError = new GrpcError(GRPC_STATUS.Unavailable, "no connection");
  #isClosed = false;

  constructor({ target, authority }: GrpcTarget) {
    const path = /^unix:(?:\/\/)?(.*)$/.exec(target)?.[1];
    this.#headers = new RequestHeaderWriter(
      authority ?? (path === undefined ? target : "localhost"),
    );
    this.#address = path === undefined ? addressOf(target) : { path };
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
      this.#current?.http2.socket.ref();
      this.#retry?.ref();
    }
    return () => void this.#waiting.delete(ready);
  }

  /** Opens a stream on the connection that stands. Throws `GrpcError` when it has just gone, or for a request that cannot be sent. */
  open({ head, body }: LinkRequest, receiver: CallReceiver): OpenedStream {
    const session = this.#current;
    if (!session) throw this.#lastError;
    const { http2, socket } = session.http2;
    const block = this.#blockOf(head);
    if (http2.isIdle) socket.ref();
    return new OpenedStream(session.http2, http2.open(block, body, receiver));
  }

  /** Ends the connection; calls on it fail. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#lastError = unavailable("the client connection is closing");
    for (const session of this.#sessions) this.#end(session, this.#lastError);
    this.#breakOff(this.#lastError);
  }

  #blockOf(head: GrpcRequestHead): Uint8Array {
    try {
      return this.#headers.write(head);
    } catch (error) {
      throw new GrpcError(GRPC_STATUS.Internal, (error as Error).message, error);
    }
  }

  #dial(): void {
    const session: Session = {
      http2: Http2Session.dial(this.#address, {
        ready: () => this.#ready(session),
        leaving: () => this.#replace(session),
        idle: () => this.#rest(session),
        lost: (error) => this.#end(session, lostBy(session, error)),
      }),
      timeout: setTimeout(
        () => this.#end(session, unavailable("no connection in time")),
        DIAL_TIMEOUT_MS,
      ).unref(),
      readySinceMs: undefined,
      isOver: false,
    };
    if (this.#waiting.size === 0) session.http2.socket.unref();
    this.#current = session;
    this.#sessions.add(session);
  }

  #ready(session: Session): void {
    clearTimeout(session.timeout);
    session.readySinceMs = performance.now();
    this.#state.set("ready");
    const waiting = [...this.#waiting.keys()];
    this.#waiting.clear();
    for (const ready of waiting) ready();
    if (session.http2.http2.isIdle) session.http2.socket.unref();
  }

  /** Nothing is under way on the session. */
  #rest(session: Session): void {
    if (this.#current === session) session.http2.socket.unref();
    else this.#end(session, this.#lastError);
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
    clearTimeout(session.timeout);
    this.#sessions.delete(session);
    if (this.#current === session) this.#lastError = error;
    this.#replace(session);
    const { http2 } = session.http2;
    for (const { receiver } of http2.abandon()) (receiver as CallReceiver).lost(error);
    // Never from within an event of the session or of its streams.
    setImmediate(() => session.http2.destroy());
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
  return new GrpcError(GRPC_STATUS.Unavailable, details, cause);
}

function addressOf(target: string): { readonly host: string; readonly port: number } {
  const url = new URL(`http://${target}`);
  return { host: url.hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(url.port || 80) };
}

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../../kit/clock.ts";
import { messageOf, OutsideError } from "../../../kit/errors.ts";

/** Streams on one connection; servers allow 100 and leave more of them waiting without a word. */
const MAX_STREAMS = 90;
/** Bytes that may be under way to us on a connection, and of one stream. */
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024;
const STREAM_WINDOW_BYTES = 1024 * 1024;
/** A connection that brought nothing for so long is asked for a sign of life (Go's ReadIdleTimeout). */
const READ_IDLE_MS = 30_000;
/** And given up when that does not come (Go's PingTimeout). */
const PING_TIMEOUT_MS = 15_000;
/** A connection without streams is closed after this (Go's IdleConnTimeout). */
const UNUSED_MS = 90_000;

/** Dependencies of a session. */
export interface H2SessionDeps {
  readonly clock: Clock;
  /** The session takes no more streams. */
  readonly onRetired: (session: H2Session) => void;
}

/**
 * One HTTP/2 connection with what Node leaves open: a bound of streams, a watch over dead peers, and word to
 * every stream when the connection is lost. Sessions are destroyed outside of their own events only.
 */
export class H2Session {
  readonly #session: ClientHttp2Session;
  readonly #socket: TLSSocket;
  readonly #deps: H2SessionDeps;
  readonly #lost = new Set<(error: OutsideError) => void>();
  #active = 0;
  #retired = false;
  #ended: OutsideError | undefined;
  #bytesSeen = 0;
  #cancelAlarm: (() => void) | undefined;
  #unusedMs = 0;

  constructor(socket: TLSSocket, authority: string, deps: H2SessionDeps) {
    this.#deps = deps;
    this.#socket = socket;
    this.#session = connectHttp2(authority, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    this.#session.once("connect", () => this.#session.setLocalWindowSize(CONNECTION_WINDOW_BYTES));
    this.#session.on("goaway", () => this.retire());
    this.#session.on("error", (error) => this.#end(`connection lost: ${error.message}`));
    this.#session.once("close", () => this.#end("connection lost"));
    socket.once("close", () => this.#end("connection lost"));
    this.#watchOver();
  }

  /** Streams that may be opened now. */
  get freeStreams(): number {
    if (this.#retired || this.#session.closed || this.#session.destroyed) return 0;
    const allowed = this.#session.remoteSettings?.maxConcurrentStreams ?? MAX_STREAMS;
    return Math.min(allowed, MAX_STREAMS) - this.#active;
  }

  get active(): number {
    return this.#active;
  }

  /**
   * Opens a stream. `onLost` is called when the connection breaks under it; `release` must be called when
   * the stream is done with. Throws `OutsideError` when the connection has just gone.
   */
  open(
    headers: OutgoingHttpHeaders,
    options: { readonly endStream: boolean; readonly onLost: (error: OutsideError) => void },
  ): { readonly stream: ClientHttp2Stream; readonly release: () => void } {
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(headers, { endStream: options.endStream });
    } catch (error) {
      // Between the end of a connection and word of it, asking for a stream throws.
      this.retire();
      throw new OutsideError("unavailable", messageOf(error), { cause: error });
    }
    // Errors are read where the stream is used; without a listener one more would end the process.
    stream.on("error", () => {});
    this.#active += 1;
    this.#unusedMs = 0;
    this.#lost.add(options.onLost);
    let released = false;
    const release = () => {
      if (released) return;
      released = true;
      this.#active -= 1;
      this.#lost.delete(options.onLost);
      if (this.#retired && this.#active === 0) this.destroy();
    };
    return { stream, release };
  }

  /** Takes no more streams; those that are open go on. */
  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#deps.onRetired(this);
    if (this.#active === 0) this.destroy();
  }

  /** Ends the connection with all its streams, soon. */
  destroy(why = "connection closed"): void {
    setImmediate(() => {
      this.#end(why);
      this.#session.destroy();
      this.#socket.destroy();
    });
  }

  #end(why: string): void {
    if (this.#ended) return;
    this.#ended = new OutsideError("unavailable", why);
    this.#cancelAlarm?.();
    const lost = [...this.#lost];
    this.#lost.clear();
    this.retire();
    for (const onLost of lost) onLost(this.#ended);
  }

  #watchOver(): void {
    this.#cancelAlarm = this.#deps.clock.alarm(READ_IDLE_MS, () => {
      if (this.#ended) return;
      const bytes = this.#socket.bytesRead;
      const silent = bytes === this.#bytesSeen;
      this.#bytesSeen = bytes;
      this.#unusedMs = this.#active === 0 ? this.#unusedMs + READ_IDLE_MS : 0;
      if (this.#unusedMs >= UNUSED_MS) this.retire();
      else if (silent) this.#ping();
      else this.#watchOver();
    });
  }

  #ping(): void {
    const dead = () => this.destroy("the server does not respond");
    if (this.#session.closed || this.#session.destroyed) {
      dead();
      return;
    }
    this.#cancelAlarm = this.#deps.clock.alarm(PING_TIMEOUT_MS, dead);
    try {
      this.#session.ping((error) => {
        this.#cancelAlarm?.();
        if (this.#ended) return;
        if (error) dead();
        else this.#watchOver();
      });
    } catch {
      this.#cancelAlarm();
      dead();
    }
  }
}

/** Whether the server surely did not process the request of a stream that ended so. */
export function wasNotTaken(stream: ClientHttp2Stream): boolean {
  return stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
}

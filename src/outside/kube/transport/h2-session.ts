import type { Clock } from "../../../kit/clock.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { Http2Session } from "../../http2/http2.ts";
import type { Http2Stream, StreamReceiver } from "../../http2/stream.ts";
import type { DialedServer } from "./dial.ts";

/** Streams on one connection; servers allow 100 and leave more of them waiting without a word. */
const MAX_STREAMS = 90;
/** A connection that brought nothing for so long is asked for a sign of life (Go's ReadIdleTimeout). */
const READ_IDLE_MS = 30_000;
/** And given up when that does not come (Go's PingTimeout). */
const PING_TIMEOUT_MS = 15_000;
/** A connection without streams is closed after this (Go's IdleConnTimeout). */
const UNUSED_MS = 90_000;

/** The server did not process the request: it may be sent again, whatever its method. */
export class NotTakenError extends OutsideError {
  constructor(message: string) {
    super("unavailable", message);
    this.name = "NotTakenError";
  }
}

/** Receives what comes on a stream, and that the connection was lost. */
export interface H2Receiver extends StreamReceiver {
  lost(error: OutsideError): void;
}

/** Dependencies of a session. */
export interface H2SessionDeps {
  readonly clock: Clock;
  /** The session takes no more streams. */
  readonly onRetired: (session: H2Session) => void;
}

/**
 * One HTTP/2 connection to an API server with what the protocol leaves open: a bound of streams, a watch over dead
 * peers, and a notice to every stream when the connection is lost. Sockets are destroyed outside of their own events only.
 */
export class H2Session {
  readonly #session: Http2Session;
  readonly #deps: H2SessionDeps;
  #retired = false;
  #ended: OutsideError | undefined;
  #bytesSeen = 0;
  #cancelAlarm: (() => void) | undefined;
  #unusedMs = 0;

  constructor({ socket, reader }: DialedServer, deps: H2SessionDeps) {
    this.#deps = deps;
    this.#session = new Http2Session(socket, reader, {
      ready: () => {},
      leaving: () => this.retire(),
      idle: () => {
        if (this.#retired) this.destroy();
      },
      pong: () => this.#pong(),
      lost: (error) => this.#lose(error),
    });
    this.#watchOver();
  }

  /** Streams that may be opened now. */
  get freeStreams(): number {
    if (this.#retired) return 0;
    const { http2 } = this.#session;
    // Where the server allows none for now, one waits for it rather than for further connections.
    const allowed = Math.max(1, Math.min(http2.maxStreams, MAX_STREAMS));
    return allowed - http2.streams;
  }

  /**
   * Sends a request; `receiver` is told what comes of it, and `lost` when the connection breaks. Throws
   * `NotTakenError` when the session has just been retired.
   */
  open(block: Uint8Array, body: Uint8Array, receiver: H2Receiver): Http2Stream {
    if (this.#retired)
      throw new NotTakenError(this.#ended?.message ?? "the connection takes no more requests");
    this.#unusedMs = 0;
    return this.#session.http2.open(block, body, receiver);
  }

  /** Ends a stream if it is not over; its receiver is told nothing more. */
  cancel(stream: Http2Stream): void {
    this.#session.http2.cancel(stream);
  }

  /** The server may send no more of a stream than its window has room for. */
  pause(stream: Http2Stream): void {
    this.#session.http2.pause(stream);
  }

  resume(stream: Http2Stream): void {
    this.#session.http2.resume(stream);
  }

  /** Takes no more streams; those that are open go on. */
  retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#deps.onRetired(this);
    if (this.#session.http2.isIdle) this.destroy();
  }

  /** Ends the connection with all its streams, soon. */
  destroy(why = "connection closed"): void {
    setImmediate(() => {
      this.#session.http2.announceEnd();
      this.#end(why);
      this.#session.destroy();
    });
  }

  #lose(error: Error | undefined): void {
    this.#end(error === undefined ? "connection lost" : `connection lost: ${error.message}`);
    // Never from within an event of the socket.
    setImmediate(() => this.#session.destroy());
  }

  #end(why: string): void {
    if (this.#ended) return;
    const error = new OutsideError("unavailable", why);
    this.#ended = error;
    this.#cancelAlarm?.();
    const lost = this.#session.http2.abandon();
    if (!this.#retired) {
      this.#retired = true;
      this.#deps.onRetired(this);
    }
    for (const { receiver } of lost) (receiver as H2Receiver).lost(error);
  }

  #watchOver(): void {
    this.#cancelAlarm = this.#deps.clock.alarm(READ_IDLE_MS, () => {
      if (this.#ended) return;
      const { bytesRead, http2 } = this.#session;
      const silent = bytesRead === this.#bytesSeen;
      this.#bytesSeen = bytesRead;
      this.#unusedMs = http2.isIdle ? this.#unusedMs + READ_IDLE_MS : 0;
      if (this.#unusedMs >= UNUSED_MS) this.retire();
      else if (silent) this.#ping();
      else this.#watchOver();
    });
  }

  #ping(): void {
    this.#cancelAlarm = this.#deps.clock.alarm(PING_TIMEOUT_MS, () =>
      this.destroy("the server does not respond"),
    );
    this.#session.http2.ping();
  }

  #pong(): void {
    if (this.#ended) return;
    this.#cancelAlarm?.();
    this.#watchOver();
  }
}

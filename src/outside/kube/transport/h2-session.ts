import type { Clock, MonotonicMs } from "../../../kit/clock.ts";
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
/** A server that lives answers a PING within this: requests that run out together are no proof that it does not. */
const PROMPT_PONG_MS = 1_000;
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

interface H2SessionDeps {
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
  #lastReadAt: MonotonicMs;
  /** When the last stream ended; of no meaning while there are some. */
  #idleSince: MonotonicMs;
  /** When the PING was sent that the server has not answered. */
  #pingedAt: MonotonicMs | undefined;
  #cancelAlarm: (() => void) | undefined;

  constructor({ socket, reader }: DialedServer, deps: H2SessionDeps) {
    this.#deps = deps;
    const { clock } = deps;
    this.#lastReadAt = clock.monotonic();
    this.#idleSince = this.#lastReadAt;
    this.#session = new Http2Session(socket, reader, {
      ready: () => {},
      leaving: () => this.retire(),
      idle: () => {
        this.#idleSince = clock.monotonic();
        if (this.#retired) this.destroy();
      },
      read: () => {
        this.#lastReadAt = clock.monotonic();
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

  /** Bytes that the server has sent so far. */
  get bytesRead(): number {
    return this.#session.bytesRead;
  }

  /**
   * Sends a request; `receiver` gets what comes of it, and `lost` is called when the connection breaks. Throws
   * `NotTakenError` when the session has just been retired.
   */
  open(block: Uint8Array, body: Uint8Array, receiver: H2Receiver): Http2Stream {
    if (this.#retired)
      throw new NotTakenError(this.#ended?.message ?? "the connection takes no more requests");
    return this.#session.http2.open(block, body, receiver);
  }

  /** Ends a stream if it is not over; its receiver gets nothing more. */
  cancel(stream: Http2Stream): void {
    this.#session.http2.cancel(stream);
  }

  /** The server may send no more of a stream than its window allows. */
  pause(stream: Http2Stream): void {
    this.#session.http2.pause(stream);
  }

  resume(stream: Http2Stream): void {
    this.#session.http2.resume(stream);
  }

  /**
   * A request has run out of time; `bytesBefore` is what `bytesRead` was when it was sent. If nothing has come since, the
   * server may be gone without a word: it is asked for a sign of life at once. When it owes one already, further
   * requests need another connection. Streams that are open go on until the PING has run out of time as well.
   */
  ranOut(bytesBefore: number): void {
    if (this.#ended || this.bytesRead !== bytesBefore) return;
    if (this.#pingedAt === undefined) this.#ping();
    else if (this.#deps.clock.monotonic() - this.#pingedAt >= PROMPT_PONG_MS) this.retire();
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

  /** What is read only leaves its time behind; an alarm that finds that the server has sent something is set again. */
  #watchOver(): void {
    const { clock } = this.#deps;
    const dueMs = this.#lastReadAt + READ_IDLE_MS - clock.monotonic();
    this.#cancelAlarm = clock.alarm(dueMs, () => {
      if (this.#ended) return;
      const now = clock.monotonic();
      const isUnused = this.#session.http2.isIdle && now - this.#idleSince >= UNUSED_MS;
      if (isUnused) this.retire();
      else if (now - this.#lastReadAt >= READ_IDLE_MS) this.#ping();
      else this.#watchOver();
    });
  }

  #ping(): void {
    const { clock } = this.#deps;
    this.#cancelAlarm?.();
    this.#pingedAt = clock.monotonic();
    this.#cancelAlarm = clock.alarm(PING_TIMEOUT_MS, () =>
      this.destroy("the server does not respond"),
    );
    this.#session.http2.ping();
  }

  #pong(): void {
    if (this.#ended) return;
    this.#pingedAt = undefined;
    this.#cancelAlarm?.();
    this.#watchOver();
  }
}

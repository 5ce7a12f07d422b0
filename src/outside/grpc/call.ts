import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import { onAbort } from "../../kit/on-abort.ts";
import type { GrpcConnection, OpenedStream } from "./link.ts";
import { frameMessage, MessageReader } from "./messages.ts";
import { errorOfReply } from "./reply-status.ts";
import { GrpcError } from "./status.ts";

/** What is asked, encoded. */
export interface GrpcCallRequest {
  readonly path: string;
  readonly message: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal;
}

/** Where goes what comes of a call. */
export interface GrpcCallReceiver {
  message(bytes: Uint8Array): void;
  /** Called once: without an error when the server ended the call with OK. */
  end(error: Error | undefined): void;
}

/** As the Go kubelet's CRI client; gRPC's default of 4 MiB is too small for a full node. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** `grpc-timeout` has at most eight digits. */
const MAX_TIMEOUT_DIGITS = 99_999_999;
/** Node's timers cannot hold more than this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

const CANCELED = 1;
const DEADLINE_EXCEEDED = 4;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const INTERNAL = 13;
const UNAVAILABLE = 14;

/** gRPC status for streams that the server has reset (gRPC over HTTP2, "Errors"). */
const STATUS_OF_RESET: Readonly<Record<number, number>> = {
  [constants.NGHTTP2_REFUSED_STREAM]: UNAVAILABLE,
  [constants.NGHTTP2_CANCEL]: CANCELED,
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: RESOURCE_EXHAUSTED,
  [constants.NGHTTP2_INADEQUATE_SECURITY]: PERMISSION_DENIED,
};

const NOTHING: IncomingHttpHeaders = {};
const ignore = () => {};

/** One call under way, from waiting for the connection to its status. */
export class GrpcCall {
  readonly #connection: GrpcConnection;
  readonly #request: GrpcCallRequest;
  readonly #receiver: GrpcCallReceiver;
  readonly #reader = new MessageReader(MAX_MESSAGE_BYTES);
  readonly #endsAtMs: number | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #forgetSignal: () => void;
  #leaveQueue: () => void = ignore;
  #opened: OpenedStream | undefined;
  #headers: IncomingHttpHeaders = NOTHING;
  #trailers: IncomingHttpHeaders = NOTHING;
  #isOver = false;

  /** Starts the call. The signal must not be aborted yet. */
  constructor(connection: GrpcConnection, request: GrpcCallRequest, receiver: GrpcCallReceiver) {
    this.#connection = connection;
    this.#request = request;
    this.#receiver = receiver;
    const { signal, timeoutMs } = request;
    if (timeoutMs !== undefined) {
      this.#endsAtMs = performance.now() + timeoutMs;
      this.#timer = setTimeout(
        () => this.#finish(new GrpcError(DEADLINE_EXCEEDED, "context deadline exceeded")),
        Math.min(timeoutMs, LONGEST_TIMER_MS),
      );
    }
    this.#forgetSignal = onAbort(signal, () => this.#finish(signal.reason as Error));
    this.#leaveQueue = connection.whenReady(
      () => this.#start(),
      (error) => this.#finish(error),
    );
  }

  /** Nothing more is received until `resume`. */
  pause(): void {
    this.#opened?.stream.pause();
  }

  resume(): void {
    this.#opened?.stream.resume();
  }

  /** Ends the call; the receiver is told nothing more. */
  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#letGo();
  }

  #start(): void {
    if (this.#isOver) return;
    try {
      const frame = frameMessage(this.#request.message, MAX_MESSAGE_BYTES);
      const lost = (error: GrpcError) => this.#finish(error);
      this.#opened = this.#connection.open(this.#sentHeaders(), lost);
      const { stream } = this.#opened;
      this.#listen(stream);
      stream.end(frame);
    } catch (error) {
      this.#finish(error as Error);
    }
  }

  #sentHeaders() {
    const { path, headers } = this.#request;
    return {
      ":method": "POST",
      ":scheme": "http",
      ":path": path,
      ":authority": this.#connection.authority,
      te: "trailers",
      "content-type": "application/grpc",
      "user-agent": "grpc-nodelet",
      ...(this.#endsAtMs === undefined
        ? {}
        : { "grpc-timeout": timeoutText(this.#endsAtMs - performance.now()) }),
      ...headers,
    };
  }

  #listen(stream: ClientHttp2Stream): void {
    stream.on("response", (headers) => {
      this.#headers = headers;
    });
    stream.on("trailers", (trailers) => {
      this.#trailers = trailers;
    });
    stream.on("data", (piece: Buffer) => this.#take(piece));
    stream.on("end", () => {
      // The end of a stream that was reset is the end of what came through.
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR) this.#conclude();
    });
    stream.on("error", (error) => this.#reset(stream.rstCode, error));
    stream.on("close", () => this.#reset(stream.rstCode));
  }

  #take(piece: Buffer): void {
    if (this.#isOver) return;
    try {
      for (const message of this.#reader.push(piece)) this.#receiver.message(message);
    } catch (error) {
      this.#finish(error as Error);
    }
  }

  /** The server has sent all that it will send. */
  #conclude(): void {
    const error = errorOfReply({ headers: this.#headers, trailers: this.#trailers });
    if (error === undefined && !this.#reader.isAtEnd)
      this.#finish(new GrpcError(INTERNAL, "unexpected EOF"));
    else this.#finish(error);
  }

  #reset(code: number | undefined, error?: Error): void {
    if (this.#isOver) return;
    // A status that came before the reset is the answer.
    if (this.#trailers["grpc-status"] !== undefined || code === constants.NGHTTP2_NO_ERROR) {
      this.#conclude();
      return;
    }
    if (this.#opened?.isConnected() === false) {
      this.#finish(
        new GrpcError(UNAVAILABLE, error?.message ?? "the connection is closing", error),
      );
      return;
    }
    const details = `stream terminated by RST_STREAM with error code: ${code}`;
    const status = STATUS_OF_RESET[code ?? constants.NGHTTP2_INTERNAL_ERROR] ?? INTERNAL;
    this.#finish(new GrpcError(status, error?.message ?? details, error));
  }

  #finish(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#letGo();
    this.#receiver.end(error);
  }

  /** Gives back what the call holds, and resets a stream on which something is still to come or to go. */
  #letGo(): void {
    clearTimeout(this.#timer);
    this.#forgetSignal();
    this.#leaveQueue();
    if (!this.#opened) return;
    const { stream, release } = this.#opened;
    release();
    if (stream.destroyed || (stream.readableEnded && stream.writableFinished)) return;
    stream.close(constants.NGHTTP2_CANCEL);
    stream.destroy();
  }
}

function timeoutText(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms));
  return whole <= MAX_TIMEOUT_DIGITS ? `${whole}m` : `${Math.ceil(whole / 1000)}S`;
}

import { startTimer } from "../../kit/clock.ts";
import { onAbort } from "../../kit/on-abort.ts";
import { grpcTimeout } from "../../kit/timing/bounded-durations.ts";
import { CODE } from "../http2/frames.ts";
import type { Http2Reply } from "../http2/stream.ts";
import type { CallReceiver, GrpcConnection, OpenedStream } from "./link.ts";
import { frameMessage, MessageReader } from "./messages.ts";
import { errorOfReply } from "./reply-status.ts";
import { GRPC_STATUS, GrpcError } from "./status.ts";

/** What is asked, encoded. */
export interface GrpcCallRequest {
  readonly path: string;
  readonly message: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal;
}

/** Where goes what comes of a call. */
interface GrpcCallReceiver {
  message(bytes: Uint8Array): void;
  /** Called once: without an error when the server ended the call with OK. */
  end(error: Error | undefined): void;
}

/** As the Go kubelet's CRI client; gRPC's default of 4 MiB is too small for a full node. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** gRPC status for streams that the server has reset (gRPC over HTTP2, "Errors"). */
const STATUS_OF_RESET: Readonly<Record<number, number>> = {
  [CODE.refusedStream]: GRPC_STATUS.Unavailable,
  [CODE.cancel]: GRPC_STATUS.Canceled,
  [CODE.enhanceYourCalm]: GRPC_STATUS.ResourceExhausted,
  [CODE.inadequateSecurity]: GRPC_STATUS.PermissionDenied,
};

const ignore = () => {};

/** One call under way, from waiting for the connection to its status. */
export class GrpcCall implements CallReceiver {
  readonly #connection: GrpcConnection;
  readonly #request: GrpcCallRequest;
  readonly #receiver: GrpcCallReceiver;
  readonly #reader = new MessageReader(MAX_MESSAGE_BYTES);
  readonly #endsAtMs: number | undefined;
  readonly #cancelTimer: () => void;
  readonly #forgetSignal: () => void;
  #leaveQueue: () => void = ignore;
  #opened: OpenedStream | undefined;
  #isOver = false;

  /** Starts the call. The signal must not be aborted yet. */
  constructor(connection: GrpcConnection, request: GrpcCallRequest, receiver: GrpcCallReceiver) {
    this.#connection = connection;
    this.#request = request;
    this.#receiver = receiver;
    const { signal, timeoutMs } = request;
    if (timeoutMs !== undefined) {
      this.#endsAtMs = performance.now() + timeoutMs;
      this.#cancelTimer = startTimer(timeoutMs, () =>
        this.#finish(new GrpcError(GRPC_STATUS.DeadlineExceeded, "context deadline exceeded")),
      );
    } else this.#cancelTimer = ignore;
    this.#forgetSignal = onAbort(signal, () => this.#finish(signal.reason as Error));
    this.#leaveQueue = connection.whenReady(
      () => this.#start(),
      (error) => this.#finish(error),
    );
  }

  /** Nothing more is received until `resume`. */
  pause(): void {
    this.#opened?.pause();
  }

  resume(): void {
    this.#opened?.resume();
  }

  /** Ends the call; the receiver gets nothing more. */
  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#letGo();
  }

  /** Of the stream: a piece of the answer. */
  data(piece: Uint8Array): void {
    try {
      for (const message of this.#reader.push(piece)) this.#receiver.message(message);
    } catch (error) {
      this.#finish(error as Error);
    }
  }

  /** Of the stream: the server has sent all that it will send. */
  end({ status, headers, trailers }: Http2Reply): void {
    const error = errorOfReply({ status, headers, trailers });
    if (error === undefined && !this.#reader.isAtEnd)
      this.#finish(new GrpcError(GRPC_STATUS.Internal, "unexpected EOF"));
    else this.#finish(error);
  }

  /** Of the stream: it was ended before the answer was whole. */
  reset(code: number, message: string): void {
    this.#finish(new GrpcError(STATUS_OF_RESET[code] ?? GRPC_STATUS.Internal, message));
  }

  /** Of the connection: it is gone. */
  lost(error: GrpcError): void {
    this.#finish(error);
  }

  #start(): void {
    if (this.#isOver) return;
    const { path, headers: fields, message } = this.#request;
    const timeout =
      this.#endsAtMs === undefined ? undefined : grpcTimeout(this.#endsAtMs - performance.now());
    try {
      const body = frameMessage(message, MAX_MESSAGE_BYTES);
      this.#opened = this.#connection.open({ head: { path, timeout, fields }, body }, this);
    } catch (error) {
      this.#finish(error as Error);
    }
  }

  #finish(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#letGo();
    this.#receiver.end(error);
  }

  /** Gives back what the call holds, and resets a stream on which something is still to come or to go. */
  #letGo(): void {
    this.#cancelTimer();
    this.#forgetSignal();
    this.#leaveQueue();
    this.#opened?.cancel();
  }
}

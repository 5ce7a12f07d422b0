import type { ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import { constants } from "node:http2";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { Clock } from "../../../kit/clock.ts";
import { messageOf, OutsideError } from "../../../kit/errors.ts";
import { onAbort } from "../../../kit/on-abort.ts";
import { type H2Session, wasNotTaken } from "./h2-session.ts";
import { LineSplitter } from "./json-lines.ts";
import type { ApiReply } from "./transport.ts";

/** Largest answer that is read, before and after unpacking. */
const MAX_REPLY_BYTES = 256 * 1024 * 1024;

/** The server did not process the request: it may be sent again, whatever its method. */
export class NotTakenError extends OutsideError {
  constructor(message: string, cause?: unknown) {
    super("unavailable", message, { cause });
    this.name = "NotTakenError";
  }
}

/** One request on a session. */
export interface H2ApiRequest {
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string;
  readonly timeoutMs: number;
}

/** Makes one request on the session and reads the whole answer. */
export async function exchange(
  session: H2Session,
  request: H2ApiRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<ApiReply> {
  signal.throwIfAborted();
  const call = new Call(session, request, clock, signal);
  try {
    const headers = await call.head;
    return await call.readAll(headers);
  } finally {
    call.end();
  }
}

/** A request whose answer is read line by line. */
export type LineReply =
  | { readonly kind: "lines"; readonly lines: AsyncIterable<string> }
  | { readonly kind: "refused"; readonly reply: ApiReply };

/** Makes a request whose answer goes on; when `lifetimeMs` is over it is given up. */
export async function exchangeLines(
  session: H2Session,
  request: H2ApiRequest & {
    readonly lifetimeMs: number;
    readonly onOpen: (stop: () => void) => () => void;
  },
  clock: Clock,
  signal: AbortSignal,
): Promise<LineReply> {
  signal.throwIfAborted();
  const call = new Call(session, request, clock, signal);
  try {
    const headers = await call.head;
    if (headers[":status"] === 200) {
      call.extend(request.lifetimeMs);
      return { kind: "lines", lines: call.lines(request.onOpen) };
    }
    const reply = await call.readAll(headers);
    call.end();
    return { kind: "refused", reply };
  } catch (error) {
    call.end();
    throw error;
  }
}

type Head = IncomingHttpHeaders & { readonly ":status"?: number };

/** One request under way, under a deadline of its own: Node may not report the end of a stream. */
class Call {
  readonly head: Promise<Head>;
  readonly #stream: ClientHttp2Stream;
  readonly #release: () => void;
  readonly #forget: () => void;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #cancelDeadline: () => void;
  #fail: (error: Error) => void = () => {};
  #failure: Error | undefined;
  #answered = false;

  constructor(session: H2Session, request: H2ApiRequest, clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    const { stream, release } = session.open(request.headers, {
      endStream: request.body === undefined,
      onLost: (error) => this.#abandon(error),
    });
    this.#stream = stream;
    this.#release = release;
    this.#cancelDeadline = this.#deadline(request.timeoutMs);
    this.#forget = onAbort(signal, () => this.#abandon(signal.reason as Error));
    this.head = new Promise((resolve, reject) => {
      this.#fail = reject;
      stream.once("response", (headers) => {
        this.#answered = true;
        resolve(headers as Head);
      });
      stream.once("error", (error) => this.#broke(error));
      stream.once("close", () => this.#broke(undefined));
    });
    // Awaited later; until then the rejection must not count as unhandled.
    this.head.catch(() => {});
    if (request.body !== undefined) stream.end(request.body);
  }

  /** From now on there is so much time left. */
  extend(lifetimeMs: number): void {
    this.#cancelDeadline();
    this.#cancelDeadline = this.#deadline(lifetimeMs);
  }

  async readAll(headers: Head): Promise<ApiReply> {
    const parts: Buffer[] = [];
    let bytes = 0;
    let isComplete = false;
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject;
      if (this.#failure) reject(this.#failure);
      this.#stream.on("data", (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (bytes > MAX_REPLY_BYTES) this.#abandon(tooLarge());
      });
      this.#stream.once("end", () => {
        // The end of a stream that was reset is the end of what came through.
        isComplete = this.#stream.rstCode === constants.NGHTTP2_NO_ERROR;
        if (isComplete) resolve();
      });
      this.#stream.once("close", () => {
        // Every stream is closed in the end; creating an error for each would cost its stack trace.
        if (!isComplete)
          reject(this.#failure ?? new OutsideError("unavailable", "the answer was cut off"));
      });
    });
    const packed = Buffer.concat(parts, bytes);
    const body = headers["content-encoding"] === "gzip" ? await unpacked(packed) : packed;
    return { status: headers[":status"] ?? 0, headers: flat(headers), body: body.toString("utf8") };
  }

  async *lines(onOpen: (stop: () => void) => () => void): AsyncGenerator<string, void> {
    const splitter = new LineSplitter();
    let stopped = false;
    const forget = onOpen(() => {
      stopped = true;
      this.#stream.close(constants.NGHTTP2_CANCEL);
      this.#stream.destroy();
    });
    try {
      for await (const chunk of this.#stream) yield* splitter.push(chunk as Buffer);
      if (this.#failure) throw this.#failure;
      const rest = splitter.rest();
      if (rest !== "") yield rest;
    } catch (error) {
      if (stopped) return;
      this.#signal.throwIfAborted();
      throw this.#failure ?? asOutside(error);
    } finally {
      forget();
      this.end();
    }
  }

  /** Gives the stream back, whatever state it is in. May be called again. */
  end(): void {
    this.#cancelDeadline();
    this.#forget();
    this.#release();
    if (this.#stream.destroyed || this.#isOver()) return;
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#stream.destroy();
  }

  /** Whether both sides have sent all: such a stream closes by itself, and a reset would be one more frame. */
  #isOver(): boolean {
    const { readableEnded, writableFinished, rstCode } = this.#stream;
    return readableEnded && writableFinished && rstCode === constants.NGHTTP2_NO_ERROR;
  }

  #deadline(ms: number): () => void {
    return this.#clock.alarm(ms, () =>
      this.#abandon(new OutsideError("deadline", `the server did not answer within ${ms} ms`)),
    );
  }

  #abandon(error: Error): void {
    this.#failure ??= error;
    this.#fail(error);
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#stream.destroy(error);
  }

  #broke(error: Error | undefined): void {
    const { rstCode } = this.#stream;
    if (error === undefined && rstCode === constants.NGHTTP2_NO_ERROR && this.#answered) return;
    const message = error?.message ?? `the stream was closed with code ${rstCode}`;
    const failure =
      !this.#answered && wasNotTaken(this.#stream)
        ? new NotTakenError(message, error)
        : new OutsideError("unavailable", message, { cause: error });
    this.#failure ??= failure;
    this.#fail(this.#failure);
  }
}

async function unpacked(packed: Buffer): Promise<Buffer> {
  try {
    return await promisify(gunzip)(packed, { maxOutputLength: MAX_REPLY_BYTES });
  } catch (error) {
    throw new OutsideError("invalid", `the answer cannot be unpacked: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function tooLarge(): OutsideError {
  return new OutsideError("invalid", `the answer is longer than ${MAX_REPLY_BYTES} bytes`);
}

function asOutside(error: unknown): OutsideError {
  return error instanceof OutsideError
    ? error
    : new OutsideError("unavailable", messageOf(error), { cause: error });
}

function flat(headers: Head): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).filter(([name]) => !name.startsWith(":"));
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : `${value}`]),
  );
}

import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { Clock } from "../../../kit/clock.ts";
import { messageOf, OutsideError } from "../../../kit/errors.ts";
import { onAbort } from "../../../kit/on-abort.ts";
import { CODE } from "../../http2/frames.ts";
import type { Http2Fields } from "../../http2/reply-headers.ts";
import type { Http2Reply, Http2ReplyHead, Http2Stream } from "../../http2/stream.ts";
import { GrowingBytes } from "./growing-bytes.ts";
import { type H2Receiver, type H2Session, NotTakenError } from "./h2-session.ts";
import type { ApiReply } from "./transport.ts";
import { WatchLines } from "./watch-lines.ts";

/** Largest answer that is read, before and after unpacking. */
const MAX_REPLY_BYTES = 256 * 1024 * 1024;

const NOTHING = Buffer.alloc(0);

/** One request on a session. */
interface H2ApiRequest {
  readonly block: Uint8Array;
  readonly body?: string | undefined;
  readonly timeoutMs: number;
}

/** A request whose answer is read line by line. */
type LineReply =
  | { readonly kind: "lines"; readonly lines: AsyncIterable<string> }
  | { readonly kind: "refused"; readonly reply: ApiReply };

/** A request whose answer goes on: until `lifetimeMs` is over, or what `onOpen` got is called. */
interface H2LineRequest extends H2ApiRequest {
  readonly lifetimeMs: number;
  /** The result is called when the answer is over. */
  readonly onOpen: (stop: () => void) => () => void;
}

/** Makes one request on the session and reads the whole answer. */
export function exchange(
  session: H2Session,
  request: H2ApiRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<ApiReply> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    new Call(session, request, { clock, signal, reply: resolve, failed: reject });
  });
}

/** Makes a request whose answer goes on; when `lifetimeMs` is over it is given up. */
export function exchangeLines(
  session: H2Session,
  request: H2LineRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<LineReply> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    new Call(session, request, {
      clock,
      signal,
      watch: request,
      lines: (lines) => resolve({ kind: "lines", lines }),
      reply: (reply) =>
        Promise.resolve(reply).then((whole) => resolve({ kind: "refused", reply: whole }), reject),
      failed: reject,
    });
  });
}

/** Who gets what comes of a call. */
interface Outcome {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly watch?: Pick<H2LineRequest, "lifetimeMs" | "onOpen">;
  readonly lines?: (lines: WatchLines) => void;
  readonly reply: (reply: ApiReply | Promise<ApiReply>) => void;
  readonly failed: (error: Error) => void;
}

/** One request under way, with a deadline of its own. */
class Call implements H2Receiver {
  readonly #session: H2Session;
  readonly #outcome: Outcome;
  readonly #stream: Http2Stream;
  /** What the session had read when the request was sent. */
  readonly #bytesBefore: number;
  readonly #forgetSignal: () => void;
  #cancelDeadline: () => void;
  #forgetWatch: (() => void) | undefined;
  #lines: WatchLines | undefined;
  /** The body: as text when it came in one piece. */
  #text: string | undefined;
  readonly #body = new GrowingBytes();
  #isOver = false;

  /** Throws `NotTakenError` when the session has just been retired. */
  constructor(session: H2Session, { block, body, timeoutMs }: H2ApiRequest, outcome: Outcome) {
    this.#session = session;
    this.#outcome = outcome;
    this.#bytesBefore = session.bytesRead;
    this.#stream = session.open(block, body === undefined ? NOTHING : Buffer.from(body), this);
    this.#cancelDeadline = this.#deadline(timeoutMs);
    this.#forgetSignal = onAbort(outcome.signal, () => this.#abort());
  }

  /** Of the stream: the answer begins. */
  headers({ status }: Http2ReplyHead): void {
    const { watch, lines } = this.#outcome;
    if (!watch || !lines || status !== 200) return;
    this.#cancelDeadline();
    this.#cancelDeadline = this.#deadline(watch.lifetimeMs);
    this.#lines = new WatchLines({
      pause: () => this.#session.pause(this.#stream),
      resume: () => this.#session.resume(this.#stream),
      cancel: () => this.#close(),
    });
    this.#forgetWatch = watch.onOpen(() => {
      this.#lines?.stop();
      this.#close();
    });
    lines(this.#lines);
  }

  /** Of the stream: a piece of the answer. */
  data(piece: Buffer, isLast: boolean): void {
    if (this.#lines) {
      this.#pushLines(this.#lines, piece);
      return;
    }
    const body = this.#body;
    if (isLast && body.length === 0 && !isGzipped(this.#stream.reply?.headers))
      this.#text = piece.toString("utf8");
    else if (body.length + piece.length > MAX_REPLY_BYTES) this.#fail(tooLarge());
    else body.add(piece);
  }

  /** Of the stream: the answer is whole. */
  end({ status, headers }: Http2Reply): void {
    this.#close();
    if (this.#lines) {
      this.#lines.finish();
      return;
    }
    // Fields that are not there are not in the object.
    const fields = headers as Readonly<Record<string, string>>;
    const gzipped = isGzipped(headers) && this.#body.length > 0;
    this.#outcome.reply(
      gzipped
        ? decompressed(this.#body.take()).then((body) => ({ status, headers: fields, body }))
        : { status, headers: fields, body: this.#text ?? this.#body.take().toString("utf8") },
    );
  }

  /** Of the stream: it was ended before the answer was whole. */
  reset(code: number, message: string): void {
    const wasNotTaken = code === CODE.refusedStream && !this.#stream.reply;
    this.#fail(wasNotTaken ? new NotTakenError(message) : new OutsideError("unavailable", message));
  }

  /** Of the connection: it is gone. */
  lost(error: OutsideError): void {
    // Without an identifier the request was never sent.
    this.#fail(this.#stream.id === 0 ? new NotTakenError(error.message) : error);
  }

  #pushLines(lines: WatchLines, piece: Buffer): void {
    try {
      lines.push(piece);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #deadline(ms: number): () => void {
    return this.#outcome.clock.alarm(ms, () => {
      this.#session.ranOut(this.#bytesBefore);
      this.#fail(new OutsideError("deadline", `the server did not answer within ${ms} ms`));
    });
  }

  #abort(): void {
    const error = this.#outcome.signal.reason as Error;
    this.#lines?.abort(error);
    this.#fail(error);
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#close();
    if (this.#lines) this.#lines.finish(error);
    else this.#outcome.failed(error);
  }

  /** Gives back what the call holds, and resets a stream on which something is still to come. May be called again. */
  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelDeadline();
    this.#forgetSignal();
    this.#forgetWatch?.();
    this.#session.cancel(this.#stream);
  }
}

function isGzipped(headers: Http2Fields | undefined): boolean {
  return headers?.["content-encoding"] === "gzip";
}

async function decompressed(gzipped: Buffer): Promise<string> {
  try {
    const body = await promisify(gunzip)(gzipped, { maxOutputLength: MAX_REPLY_BYTES });
    return body.toString("utf8");
  } catch (error) {
    throw new OutsideError("invalid", `the answer cannot be unpacked: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function tooLarge(): OutsideError {
  return new OutsideError("invalid", `the answer is longer than ${MAX_REPLY_BYTES} bytes`);
}

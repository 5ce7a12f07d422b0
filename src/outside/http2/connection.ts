// pure
/**
 * The client's side of an HTTP/2 connection (RFC 9113), as far as gRPC and the API client need it: requests whose body
 * is known, no push, no priorities. Knows no socket: bytes of the server go in, bytes for it come out.
 */
import {
  CODE,
  FLAG,
  FRAME,
  FRAME_HEAD_BYTES,
  frame,
  goAwayFrame,
  Http2Error,
  Http2FrameReader,
  MAX_31_BIT,
  nameOfCode,
  numberFrame,
  PREFACE,
} from "./frames.ts";
import {
  HTTP2_LIMITS,
  type Http2Events,
  type Http2Limits,
  MAX_BLOCK_BYTES,
  MAX_HEADER_LIST_BYTES,
  MAX_REPLY_BYTES,
} from "./limits.ts";
import {
  blockPartOf,
  bodyOf,
  connectionPayload,
  goAwayOf,
  incrementOf,
  numberOf,
  OUR_PING,
  pingOf,
  protocolError,
} from "./payloads.ts";
import { blockError, type Http2Fields, NO_FIELDS, ReplyHeaderReader } from "./reply-headers.ts";
import { RequestSender } from "./request-sender.ts";
import { DEFAULT_WINDOW_BYTES, settingsFrame } from "./settings.ts";
import { Http2Stream, type StreamReceiver } from "./stream.ts";

/** A header block that is being collected. */
interface OpenBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly parts: Uint8Array[];
  bytes: number;
}

/** One connection with its streams. */
export class Http2Connection {
  readonly #events: Http2Events;
  readonly #limits: Http2Limits;
  readonly #reader = new Http2FrameReader({
    frame: (type, flags, streamId, payload) => this.#take(type, flags, streamId, payload),
  });
  readonly #sender = new RequestSender((bytes) => this.#events.write(bytes));
  readonly #headers = new ReplyHeaderReader(MAX_HEADER_LIST_BYTES);
  /** Open streams by identifier. */
  readonly #streams = new Map<number, Http2Stream>();
  /** Streams that wait until the server allows more of them. */
  readonly #waiting = new Set<Http2Stream>();
  #isReady = false;
  /** open → leaving (no more streams begin) → over (nothing is read any more); from open also at once. */
  #life: "open" | "leaving" | "over" = "open";
  #nextId: number;
  #uncredited = 0;
  #replyBytes = 0;
  #block: OpenBlock | undefined;

  constructor(events: Http2Events, limits: Http2Limits = HTTP2_LIMITS) {
    this.#events = events;
    this.#limits = limits;
    this.#nextId = limits.firstStreamId;
  }

  /** Sends the client's connection preface (RFC 9113, 3.4). */
  start(): void {
    const { connectionWindowBytes, streamWindowBytes } = this.#limits;
    const more = connectionWindowBytes - DEFAULT_WINDOW_BYTES;
    const parts = [PREFACE, settingsFrame(streamWindowBytes, MAX_HEADER_LIST_BYTES)];
    if (more > 0) parts.push(numberFrame(FRAME.windowUpdate, 0, more));
    this.#events.write(Buffer.concat(parts));
  }

  /** Streams that are open or wait. */
  get streams(): number {
    return this.#streams.size + this.#waiting.size;
  }

  get isIdle(): boolean {
    return this.streams === 0;
  }

  /** Streams that the server allows at once; infinite until it has said so. */
  get maxStreams(): number {
    return this.#sender.maxStreams;
  }

  /** Asks the server for a sign of life, which `pong` reports. */
  ping(): void {
    this.#events.write(frame(FRAME.ping, 0, 0, OUR_PING));
  }

  /** Notifies the server that the connection is going to be closed in order. */
  announceEnd(): void {
    if (this.#life !== "over") this.#events.write(goAwayFrame(CODE.noError));
  }

  /** Ends without a GOAWAY for the server. The result are the streams that were not over; their receivers get nothing. */
  abandon(): readonly Http2Stream[] {
    const streams = [...this.#streams.values(), ...this.#waiting];
    this.#life = "over";
    this.#streams.clear();
    this.#waiting.clear();
    for (const stream of streams) stream.isOver = true;
    return streams;
  }

  /** Takes what the server sent. Throws `Http2Error` when it broke a rule, which has been reported to it then. */
  receive(piece: Buffer): void {
    if (this.#life === "over") return;
    try {
      this.#reader.push(piece);
    } catch (error) {
      this.#life = "over";
      if (error instanceof Http2Error) this.#events.write(goAwayFrame(error.code));
      throw error;
    }
  }

  /** Sends a request, whose body may be empty, now or as soon as the server allows. */
  open(block: Uint8Array, body: Uint8Array, receiver: StreamReceiver): Http2Stream {
    const stream = new Http2Stream(block, body, receiver);
    if (this.#mayStart() && this.#waiting.size === 0) this.#start(stream);
    else this.#waiting.add(stream);
    return stream;
  }

  /** Ends a stream; its receiver gets nothing more. */
  cancel(stream: Http2Stream): void {
    if (stream.isOver) return;
    if (stream.id > 0) this.#events.write(numberFrame(FRAME.rstStream, stream.id, CODE.cancel));
    this.#remove(stream);
  }

  /** The server may send no more of this stream than its window allows. */
  pause(stream: Http2Stream): void {
    stream.isPaused = true;
  }

  /** Gives the server's window back. */
  resume(stream: Http2Stream): void {
    stream.isPaused = false;
    if (!stream.isOver) this.#replenish(stream);
  }

  #mayStart(): boolean {
    return this.#life === "open" && this.#streams.size < this.#sender.maxStreams;
  }

  #start(stream: Http2Stream): void {
    stream.id = this.#nextId;
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    this.#sender.start(stream);
    if (this.#nextId > MAX_31_BIT) this.#leave(CODE.noError);
  }

  /** Something that the server's frames make us say. One that does not read it must not fill our memory (RFC 9113, 10.5). */
  #reply(bytes: Uint8Array): void {
    if (this.#events.isDrained()) this.#replyBytes = 0;
    this.#replyBytes += bytes.length;
    if (this.#replyBytes > MAX_REPLY_BYTES)
      throw new Http2Error(
        CODE.enhanceYourCalm,
        `more than ${MAX_REPLY_BYTES} bytes of answers to frames are not read`,
      );
    this.#events.write(bytes);
  }

  #take(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (this.#life === "over") return;
    if (this.#block && (type !== FRAME.continuation || streamId !== this.#block.streamId))
      throw protocolError("another frame within a header block");
    if (!this.#isReady && (type !== FRAME.settings || (flags & FLAG.ack) !== 0))
      throw protocolError("the server does not begin with SETTINGS");
    switch (type) {
      case FRAME.data:
        this.#takeData(flags, streamId, payload);
        break;
      case FRAME.headers:
        this.#takeHeaders(flags, streamId, payload);
        break;
      case FRAME.continuation:
        this.#takeContinuation(flags, payload);
        break;
      case FRAME.windowUpdate:
        this.#takeWindowUpdate(streamId, incrementOf(payload));
        break;
      case FRAME.rstStream:
        this.#takeReset(streamId, numberOf(payload));
        break;
      case FRAME.settings:
        this.#takeSettings(flags, connectionPayload(streamId, payload));
        break;
      case FRAME.ping:
        this.#takePing(flags, pingOf(connectionPayload(streamId, payload)));
        break;
      case FRAME.goAway:
        this.#takeGoAway(goAwayOf(connectionPayload(streamId, payload)));
        break;
      case FRAME.pushPromise:
        throw protocolError("PUSH_PROMISE, which was not allowed");
      default:
      // Unknown types are ignored (RFC 9113, 4.1), and so is PRIORITY (5.3.2).
    }
  }

  /** An open stream; undefined for one that is over, of which something may be on its way. */
  #streamOf(id: number): Http2Stream | undefined {
    if (id % 2 === 0 || id < this.#limits.firstStreamId || id >= this.#nextId)
      throw protocolError(`a frame for stream ${id}, which was never opened`);
    return this.#streams.get(id);
  }

  #takeData(flags: number, streamId: number, payload: Buffer): void {
    const stream = this.#streamOf(streamId);
    this.#uncredited += payload.length;
    const { connectionWindowBytes, streamWindowBytes } = this.#limits;
    if (this.#uncredited > connectionWindowBytes)
      throw new Http2Error(CODE.flowControl, `more than ${connectionWindowBytes} bytes of data`);
    // At once: a reader who takes his time holds up his own stream only.
    if (this.#uncredited >= connectionWindowBytes / 2) {
      this.#events.write(numberFrame(FRAME.windowUpdate, 0, this.#uncredited));
      this.#uncredited = 0;
    }
    const body = bodyOf(flags, payload);
    const isLast = (flags & FLAG.endStream) !== 0;
    if (!stream) return;
    stream.uncredited += payload.length;
    if (stream.uncredited > streamWindowBytes)
      this.#fail(stream, CODE.flowControl, `more than ${streamWindowBytes} bytes of data`);
    else if (!stream.reply) this.#fail(stream, CODE.protocol, "data before headers");
    else if (body.length > 0) stream.receiver.data(body, isLast);
    if (stream.isOver) return;
    if (isLast) this.#complete(stream, NO_FIELDS);
    else this.#replenish(stream);
  }

  #replenish(stream: Http2Stream): void {
    if (stream.isPaused || stream.uncredited < this.#limits.streamWindowBytes / 2) return;
    const credit = stream.uncredited;
    stream.uncredited = 0;
    this.#events.write(numberFrame(FRAME.windowUpdate, stream.id, credit));
  }

  #takeHeaders(flags: number, streamId: number, payload: Buffer): void {
    this.#streamOf(streamId);
    const part = blockPartOf(flags, payload);
    const endStream = (flags & FLAG.endStream) !== 0;
    if (flags & FLAG.endHeaders) this.#understand(streamId, part, endStream);
    else this.#block = { streamId, endStream, parts: [Uint8Array.from(part)], bytes: part.length };
  }

  #takeContinuation(flags: number, payload: Uint8Array): void {
    const block = this.#block;
    if (!block) throw protocolError("CONTINUATION without HEADERS");
    block.parts.push(Uint8Array.from(payload));
    block.bytes += payload.length + FRAME_HEAD_BYTES;
    if (block.bytes > MAX_BLOCK_BYTES)
      throw new Http2Error(
        CODE.enhanceYourCalm,
        `a header block of more than ${MAX_BLOCK_BYTES} bytes`,
      );
    if ((flags & FLAG.endHeaders) === 0) return;
    this.#block = undefined;
    this.#understand(block.streamId, Buffer.concat(block.parts), block.endStream);
  }

  /** Blocks of streams that are over are decoded too, because they change the table. */
  #understand(streamId: number, block: Uint8Array, endStream: boolean): void {
    const decoded = this.#headers.read(block);
    const stream = this.#streams.get(streamId);
    if (!stream) return;
    const problem = blockError(decoded, stream.reply !== undefined, endStream);
    if (problem !== undefined)
      this.#fail(
        stream,
        decoded.kind === "tooLong" ? CODE.enhanceYourCalm : CODE.protocol,
        problem,
      );
    else if (decoded.kind === "trailers") this.#complete(stream, decoded.fields);
    else if (decoded.kind === "headers" && decoded.status >= 200) {
      stream.reply = { status: decoded.status, headers: decoded.fields };
      stream.receiver.headers?.(stream.reply);
      if (endStream && !stream.isOver) this.#complete(stream, NO_FIELDS);
    }
  }

  #takeWindowUpdate(streamId: number, bytes: number): void {
    if (streamId === 0) {
      if (bytes === 0) throw protocolError("WINDOW_UPDATE of nothing");
      this.#sender.creditConnection(bytes);
      return;
    }
    const stream = this.#streamOf(streamId);
    if (!stream) return;
    if (bytes === 0) this.#fail(stream, CODE.protocol, "WINDOW_UPDATE of nothing");
    else if (!this.#sender.creditStream(stream, bytes))
      this.#fail(stream, CODE.flowControl, "a window of more than 2^31-1 bytes");
  }

  #takeReset(streamId: number, code: number): void {
    const stream = this.#streamOf(streamId);
    if (!stream) return;
    this.#remove(stream);
    const message = `stream terminated by RST_STREAM with error code: ${nameOfCode(code)}`;
    stream.receiver.reset(code, message);
  }

  #takeSettings(flags: number, payload: Uint8Array): void {
    if (flags & FLAG.ack) {
      if (payload.length > 0)
        throw new Http2Error(CODE.frameSize, "SETTINGS with ACK are not empty");
      return;
    }
    this.#sender.applySettings(payload, this.#streams.values());
    this.#reply(frame(FRAME.settings, FLAG.ack, 0));
    if (!this.#isReady) {
      this.#isReady = true;
      this.#events.ready();
    }
    this.#sender.sendBlocked();
    this.#startWaiting();
  }

  #takePing(flags: number, echo: Uint8Array): void {
    if ((flags & FLAG.ack) === 0) this.#reply(frame(FRAME.ping, FLAG.ack, 0, echo));
    else if (OUR_PING.equals(echo)) this.#events.pong?.();
  }

  #takeGoAway({ last, code }: ReturnType<typeof goAwayOf>): void {
    this.#leave(code);
    for (const stream of [...this.#streams.values()]) if (stream.id > last) this.#refuse(stream);
    if (this.isIdle) this.#events.idle();
  }

  /** Opens no more streams. Those that wait have not been seen by the server, so that they may be tried again. */
  #leave(code: number): void {
    if (this.#life === "open") {
      this.#life = "leaving";
      this.#events.leaving(code);
    }
    for (const stream of [...this.#waiting]) this.#refuse(stream);
  }

  #refuse(stream: Http2Stream): void {
    this.#remove(stream);
    stream.receiver.reset(
      CODE.refusedStream,
      "the server takes no more requests on this connection",
    );
  }

  /** The server broke a rule that concerns this stream only (RFC 9113, 5.4.2). */
  #fail(stream: Http2Stream, code: number, message: string): void {
    this.#reply(numberFrame(FRAME.rstStream, stream.id, code));
    this.#remove(stream);
    stream.receiver.reset(code, `${nameOfCode(code)}: ${message}`);
  }

  /** The answer is whole. What of the request has not been sent is not needed any more (RFC 9113, 8.1). */
  #complete(stream: Http2Stream, trailers: Http2Fields): void {
    const { status = 0, headers = NO_FIELDS } = stream.reply ?? {};
    if (stream.unsent.length > 0) this.#reply(numberFrame(FRAME.rstStream, stream.id, CODE.cancel));
    this.#remove(stream);
    stream.receiver.end({ status, headers, trailers });
  }

  #remove(stream: Http2Stream): void {
    stream.isOver = true;
    this.#waiting.delete(stream);
    this.#sender.forget(stream);
    this.#streams.delete(stream.id);
    this.#startWaiting();
    if (this.isIdle) this.#events.idle();
  }

  #startWaiting(): void {
    for (const stream of this.#waiting) {
      if (!this.#mayStart()) return;
      this.#waiting.delete(stream);
      this.#start(stream);
    }
  }
}

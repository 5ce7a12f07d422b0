// pure
/** Frames of HTTP/2 (RFC 9113, 4 and 6): taken out of the bytes of a connection, and written. */

/** Types of frames (RFC 9113, 6). */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Flags of frames (RFC 9113, 6); END_STREAM and ACK are the same bit of different types. */
export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** Error codes (RFC 9113, 7). */
export const CODE = {
  noError: 0,
  protocol: 1,
  flowControl: 3,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
} as const;

const CODE_NAMES: readonly string[] = [
  "NO_ERROR",
  "PROTOCOL_ERROR",
  "INTERNAL_ERROR",
  "FLOW_CONTROL_ERROR",
  "SETTINGS_TIMEOUT",
  "STREAM_CLOSED",
  "FRAME_SIZE_ERROR",
  "REFUSED_STREAM",
  "CANCEL",
  "COMPRESSION_ERROR",
  "CONNECT_ERROR",
  "ENHANCE_YOUR_CALM",
  "INADEQUATE_SECURITY",
  "HTTP_1_1_REQUIRED",
];

/** The name of an error code, as gRPC for Go writes it. */
export function nameOfCode(code: number): string {
  return CODE_NAMES[code] ?? `unknown error code 0x${code.toString(16)}`;
}

/** The peer broke a rule that concerns the whole connection, which is of no use any more (RFC 9113, 5.4.1). */
export class Http2Error extends Error {
  override readonly name = "Http2Error";
  readonly code: number;

  constructor(code: number, message: string) {
    super(`${nameOfCode(code)}: ${message}`);
    this.code = code;
  }
}

/** What begins a client's connection, before its SETTINGS (RFC 9113, 3.4). */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** Length of the header of a frame. */
export const FRAME_HEAD_BYTES = 9;
/** Longest payload that a peer may send: SETTINGS_MAX_FRAME_SIZE is left at its default. */
export const MAX_FRAME_BYTES = 16_384;
/** Largest flow-control window, and largest stream identifier. */
export const MAX_31_BIT = 0x7fff_ffff;

const EMPTY = Buffer.alloc(0);

/** Gets the frames one after the other; `payload` is valid during the call only. */
interface FrameSink {
  frame(type: number, flags: number, streamId: number, payload: Buffer): void;
}

/** Takes frames out of the bytes of one connection, which come in pieces of any size. */
export class Http2FrameReader {
  readonly #sink: FrameSink;
  readonly #maxBytes: number;
  /** The header of a frame that is not complete, and space for its payload once the length is known. */
  readonly #head = Buffer.alloc(FRAME_HEAD_BYTES);
  #payload: Buffer = EMPTY;
  /** Bytes that are there of both. */
  #heldBytes = 0;

  /** `maxBytes` is the longest payload that is taken. */
  constructor(sink: FrameSink, maxBytes = MAX_FRAME_BYTES) {
    this.#sink = sink;
    this.#maxBytes = maxBytes;
  }

  /** Hands over the frames that are complete with this piece. Throws `Http2Error` for one that is too long. */
  push(piece: Buffer): void {
    let at = this.#heldBytes === 0 ? 0 : this.#hold(piece, 0);
    while (piece.length - at >= FRAME_HEAD_BYTES) {
      const start = at + FRAME_HEAD_BYTES;
      const end = start + lengthAt(piece, at, this.#maxBytes);
      if (end > piece.length) break;
      this.#deliver(piece, at, piece.subarray(start, end));
      at = end;
    }
    if (at < piece.length) this.#hold(piece, at);
  }

  /** Adds to the frame that is held, and hands it over when it is whole. The result is where the next one begins. */
  #hold(piece: Buffer, from: number): number {
    let at = from;
    while (this.#heldBytes < FRAME_HEAD_BYTES) {
      if (at === piece.length) return at;
      this.#head[this.#heldBytes] = piece[at] ?? 0;
      this.#heldBytes += 1;
      at += 1;
      if (this.#heldBytes === FRAME_HEAD_BYTES)
        this.#payload = Buffer.allocUnsafe(lengthAt(this.#head, 0, this.#maxBytes));
    }
    const had = this.#heldBytes - FRAME_HEAD_BYTES;
    const end = Math.min(at + this.#payload.length - had, piece.length);
    piece.copy(this.#payload, had, at, end);
    this.#heldBytes += end - at;
    if (this.#heldBytes < FRAME_HEAD_BYTES + this.#payload.length) return end;
    const payload = this.#payload;
    this.#payload = EMPTY;
    this.#heldBytes = 0;
    this.#deliver(this.#head, 0, payload);
    return end;
  }

  // Plain indexing: a method of buffers or a function of ours takes several times as long in V8's interpreter.
  #deliver(head: Buffer, at: number, payload: Buffer): void {
    const high = (((head[at + 5] ?? 0) & 0x7f) << 8) | (head[at + 6] ?? 0);
    const streamId = (high << 16) | ((head[at + 7] ?? 0) << 8) | (head[at + 8] ?? 0);
    this.#sink.frame(head[at + 3] ?? 0, head[at + 4] ?? 0, streamId, payload);
  }
}

function lengthAt(bytes: Buffer, at: number, maxBytes: number): number {
  const length = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  if (length > maxBytes)
    throw new Http2Error(CODE.frameSize, `a frame of ${length} bytes, more than ${maxBytes}`);
  return length;
}

/** Encodes several frames into one buffer, so that they are written with one call. */
export class Http2FrameWriter {
  readonly bytes: Buffer;
  #at = 0;

  /** `size` is the length of all frames that are to come, their headers included. */
  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size);
  }

  /** Adds a frame. */
  add(type: number, flags: number, streamId: number, payload: Uint8Array): this {
    const { bytes } = this;
    const at = this.#at;
    const { length } = payload;
    bytes[at] = length >> 16;
    bytes[at + 1] = length >> 8;
    bytes[at + 2] = length;
    bytes[at + 3] = type;
    bytes[at + 4] = flags;
    bytes[at + 5] = streamId >> 24;
    bytes[at + 6] = streamId >> 16;
    bytes[at + 7] = streamId >> 8;
    bytes[at + 8] = streamId;
    bytes.set(payload, at + FRAME_HEAD_BYTES);
    this.#at = at + FRAME_HEAD_BYTES + length;
    return this;
  }
}

/** One frame. */
export function frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = EMPTY,
): Buffer {
  return new Http2FrameWriter(FRAME_HEAD_BYTES + payload.length).add(type, flags, streamId, payload)
    .bytes;
}

/** A frame whose payload is one number of 32 bits: WINDOW_UPDATE and RST_STREAM. */
export function numberFrame(type: number, streamId: number, value: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32BE(value);
  return frame(type, 0, streamId, payload);
}

/** GOAWAY of a client, which has taken no stream of the server's. */
export function goAwayFrame(code: number): Buffer {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(code, 4);
  return frame(FRAME.goAway, 0, 0, payload);
}

// pure
/**
 * Frames of SPDY/3.1 as far as a client of a runtime's streaming server needs them. Only the client's streams carry
 * anything; nothing that the server says in headers matters, so its header blocks are never decompressed. The peers
 * (moby/spdystream) know no flow control: the connection's own back pressure is all there is.
 */

/** A frame of the server, or a part of a data frame. `last`: the server sends nothing more on that stream. */
export type SpdyFrame =
  | { readonly kind: "reply"; readonly streamId: number; readonly last: boolean }
  | {
      readonly kind: "data";
      readonly streamId: number;
      readonly bytes: Uint8Array;
      readonly last: boolean;
    }
  | { readonly kind: "reset"; readonly streamId: number; readonly status: number }
  | { readonly kind: "ping"; readonly id: number }
  | { readonly kind: "goAway" }
  /** The connection is of no use any more. */
  | { readonly kind: "invalid"; readonly why: string };

const VERSION = 3;
const HEAD_BYTES = 8;
const FIN = 0x01;
const TYPE = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, goAway: 7, headers: 8 } as const;
/** Bytes of content without which a control frame means nothing, by type. */
const LEAST_CONTENT: Readonly<Record<number, number>> = {
  [TYPE.synReply]: 4,
  [TYPE.rstStream]: 8,
  [TYPE.ping]: 4,
  [TYPE.headers]: 4,
};
/** Longest control frame that is read; those of a streaming server have some hundred bytes. */
const MAX_CONTROL_BYTES = 64 * 1024;
/** Longest content of a data frame that is written, as Go copies. */
const MAX_DATA_BYTES = 32 * 1024;
/** Longest header block: a stored block of deflate has no more. */
const MAX_HEADER_BYTES = 0xffff;
/** Adler-32 of the dictionary of SPDY/3, by which a zlib stream names it. */
const DICTIONARY_ID = 0xe3_c6_a7_c2;

/**
 * The frame that opens stream `streamId` (odd, rising). Names of `headers` are in lower case. `first`: it is the
 * first of its connection, which all header blocks share one zlib stream.
 *
 * The headers are stored, not compressed (RFC 1951, 3.2.4): every inflater reads that, it needs neither the
 * dictionary nor state, and a handful of short headers would gain nothing. The empty block behind them is what
 * a flush writes; Go's inflater hands its output on when it meets it.
 */
export function encodeSynStream(
  streamId: number,
  headers: Readonly<Record<string, string>>,
  first: boolean,
): Uint8Array {
  const block = headerBlock(headers);
  const zlibHead = first ? 6 : 0;
  const length = 10 + zlibHead + 5 + block.length + 5;
  const frame = new Uint8Array(HEAD_BYTES + length);
  const view = new DataView(frame.buffer);
  writeHead(view, TYPE.synStream, length);
  view.setUint32(8, streamId);
  let at = 18;
  if (first) {
    view.setUint16(at, 0x7820);
    view.setUint32(at + 2, DICTIONARY_ID);
    at += 6;
  }
  view.setUint16(at + 1, block.length, true);
  view.setUint16(at + 3, ~block.length & 0xffff, true);
  frame.set(block, at + 5);
  view.setUint16(at + 5 + block.length + 3, 0xffff, true);
  return frame;
}

/** Data frames for `bytes`; the last one ends our side of the stream if `last`. None for nothing. */
export function encodeData(streamId: number, bytes: Uint8Array, last: boolean): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < bytes.length || (last && frames.length === 0); at += MAX_DATA_BYTES) {
    const part = bytes.subarray(at, at + MAX_DATA_BYTES);
    const frame = new Uint8Array(HEAD_BYTES + part.length);
    const view = new DataView(frame.buffer);
    view.setUint32(0, streamId);
    view.setUint32(4, part.length);
    if (last && at + MAX_DATA_BYTES >= bytes.length) frame[4] = FIN;
    frame.set(part, HEAD_BYTES);
    frames.push(frame);
  }
  return frames;
}

/** The answer to a ping is the ping itself. */
export function encodePing(id: number): Uint8Array {
  const frame = new Uint8Array(HEAD_BYTES + 4);
  const view = new DataView(frame.buffer);
  writeHead(view, TYPE.ping, 4);
  view.setUint32(8, id);
  return frame;
}

function writeHead(view: DataView, type: number, length: number): void {
  view.setUint16(0, 0x8000 | VERSION);
  view.setUint16(2, type);
  view.setUint32(4, length);
}

function headerBlock(headers: Readonly<Record<string, string>>): Uint8Array {
  const encoder = new TextEncoder();
  const words = Object.entries(headers).flatMap((pair) => pair.map((word) => encoder.encode(word)));
  const size = words.reduce((sum, word) => sum + 4 + word.length, 4);
  if (size > MAX_HEADER_BYTES) throw new RangeError(`headers of ${size} bytes are too long`);
  const block = new Uint8Array(size);
  const view = new DataView(block.buffer);
  view.setUint32(0, words.length / 2);
  let at = 4;
  for (const word of words) {
    view.setUint32(at, word.length);
    block.set(word, at + 4);
    at += 4 + word.length;
  }
  return block;
}

/** Takes what the server sends apart, however it is cut. After "invalid" it reads nothing more. */
export class SpdyDecoder {
  readonly #head = new Uint8Array(HEAD_BYTES);
  #headBytes = 0;
  /** Bytes of the frame's content that are still to come. */
  #missing = 0;
  /** Content of a control frame. */
  #content = new Uint8Array(0);
  #broken = false;

  push(chunk: Uint8Array): readonly SpdyFrame[] {
    const frames: SpdyFrame[] = [];
    let at = 0;
    while (!this.#broken && at < chunk.length) {
      if (this.#headBytes < HEAD_BYTES) {
        const part = chunk.subarray(at, at + HEAD_BYTES - this.#headBytes);
        this.#head.set(part, this.#headBytes);
        this.#headBytes += part.length;
        at += part.length;
        if (this.#headBytes === HEAD_BYTES) this.#begin(frames);
      } else {
        const part = chunk.subarray(at, at + this.#missing);
        at += part.length;
        this.#take(part, frames);
      }
    }
    return frames;
  }

  get #isControl(): boolean {
    return ((this.#head[0] ?? 0) & 0x80) !== 0;
  }

  get #last(): boolean {
    return ((this.#head[4] ?? 0) & FIN) !== 0;
  }

  #begin(frames: SpdyFrame[]): void {
    const view = new DataView(this.#head.buffer);
    this.#missing = view.getUint32(4) & 0xff_ff_ff;
    if (this.#isControl) {
      const version = view.getUint16(0) & 0x7fff;
      if (version !== VERSION) this.#fail(frames, `a frame of SPDY version ${version}`);
      else if (this.#missing > MAX_CONTROL_BYTES)
        this.#fail(frames, `a control frame of ${this.#missing} bytes`);
      else this.#content = new Uint8Array(this.#missing);
    }
    if (!this.#broken && this.#missing === 0) this.#take(new Uint8Array(0), frames);
  }

  #take(part: Uint8Array, frames: SpdyFrame[]): void {
    if (this.#isControl) this.#content.set(part, this.#content.length - this.#missing);
    this.#missing -= part.length;
    const complete = this.#missing === 0;
    if (complete) this.#headBytes = 0;
    if (this.#isControl) {
      if (complete) this.#takeControl(frames);
      return;
    }
    const streamId = new DataView(this.#head.buffer).getUint32(0);
    const last = complete && this.#last;
    if (part.length > 0 || last) frames.push({ kind: "data", streamId, bytes: part, last });
  }

  #takeControl(frames: SpdyFrame[]): void {
    const type = new DataView(this.#head.buffer).getUint16(2);
    const view = new DataView(this.#content.buffer);
    if (view.byteLength < (LEAST_CONTENT[type] ?? 0)) {
      this.#fail(frames, `a control frame of type ${type} with ${view.byteLength} bytes`);
      return;
    }
    const number = (at: number) => view.getUint32(at) & 0x7fff_ffff;
    if (type === TYPE.synReply)
      frames.push({ kind: "reply", streamId: number(0), last: this.#last });
    else if (type === TYPE.rstStream)
      frames.push({ kind: "reset", streamId: number(0), status: number(4) });
    else if (type === TYPE.ping) frames.push({ kind: "ping", id: view.getUint32(0) });
    else if (type === TYPE.goAway) frames.push({ kind: "goAway" });
    else if (type === TYPE.headers && this.#last)
      frames.push({ kind: "data", streamId: number(0), bytes: new Uint8Array(0), last: true });
    // Settings, windows and streams of the server's own mean nothing to us.
  }

  #fail(frames: SpdyFrame[], why: string): void {
    this.#broken = true;
    frames.push({ kind: "invalid", why });
  }
}

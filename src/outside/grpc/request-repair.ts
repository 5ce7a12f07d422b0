// pure
/**
 * Lets requests through whose `:authority` Node's HTTP/2 server would refuse. Clients of gRPC for Go before
 * 1.57 that dial a unix socket through a dialer of their own send the socket's path (or nothing) there, and
 * nghttp2 resets such a stream without a word. This reads what a client sends, decodes every header block,
 * puts `localhost` where the authority cannot stand, and says the block again without compression.
 */
import { appendAll } from "../../kit/limits/lists.ts";
import {
  ascii,
  encodeHeaders,
  type HeaderField,
  HpackDecoder,
  HpackError,
} from "../http2/hpack.ts";

const PREFACE = ascii("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const FRAME_HEADER_BYTES = 9;
/** SETTINGS_MAX_FRAME_SIZE that the server leaves at its default. */
const MAX_FRAME_BYTES = 16_384;
/** SETTINGS_HEADER_TABLE_SIZE likewise. */
const TABLE_BYTES = 4096;
/** Longest header block, compressed and not; what gRPC sends is below 1 KiB. */
const MAX_HEADER_BYTES = 64 * 1024;

const HEADERS = 1;
const CONTINUATION = 9;
const FLAG_END_STREAM = 0x1;
const FLAG_END_HEADERS = 0x4;
const FLAG_PADDED = 0x8;
const FLAG_PRIORITY = 0x20;

const AUTHORITY = ":authority";
const REPLACEMENT = ascii("localhost");
/** What nghttp2 accepts as `:authority` (RFC 3986 host and port). */
const ACCEPTABLE = /^[A-Za-z0-9\-._~%!$&'()*+,;=:@[\]]+$/;

/** A header block that is being collected. */
interface OpenBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly parts: Uint8Array[];
  bytes: number;
}

/** The bytes of one connection from client to server, as they come in and as they go on. */
export class RequestRepair {
  readonly #decoder = new HpackDecoder({ tableBytes: TABLE_BYTES, listBytes: MAX_HEADER_BYTES });
  #held: Uint8Array = new Uint8Array();
  #state: "preface" | "frames" | "foreign" = "preface";
  /** Bytes of a frame's payload that only pass through. */
  #passing = 0;
  #block: OpenBlock | undefined;

  /** Takes what arrived and returns what goes on to the server. Throws `HpackError` when the peer is broken. */
  push(chunk: Uint8Array): readonly Uint8Array[] {
    if (this.#state === "foreign") return [chunk];
    this.#held = this.#held.length === 0 ? chunk : joined([this.#held, chunk]);
    const out: Uint8Array[] = [];
    while (this.#step(out));
    return out;
  }

  #step(out: Uint8Array[]): boolean {
    if (this.#held.length === 0) return false;
    switch (this.#state) {
      case "preface":
        return this.#readPreface(out);
      case "frames":
        return this.#passing > 0 ? this.#pass(out) : this.#readFrame(out);
      case "foreign":
        out.push(this.#take(this.#held.length));
        return false;
      default:
        return this.#state satisfies never;
    }
  }

  /** Input that is not HTTP/2 is left for the server to refuse. */
  #readPreface(out: Uint8Array[]): boolean {
    const known = Math.min(this.#held.length, PREFACE.length);
    if (PREFACE.subarray(0, known).some((byte, i) => this.#held[i] !== byte)) {
      this.#state = "foreign";
      return true;
    }
    if (known < PREFACE.length) return false;
    out.push(this.#take(PREFACE.length));
    this.#state = "frames";
    return true;
  }

  #pass(out: Uint8Array[]): boolean {
    const part = this.#take(Math.min(this.#passing, this.#held.length));
    this.#passing -= part.length;
    out.push(part);
    return true;
  }

  #readFrame(out: Uint8Array[]): boolean {
    if (this.#held.length < FRAME_HEADER_BYTES) return false;
    const [b0 = 0, b1 = 0, b2 = 0, type = 0, flags = 0] = this.#held;
    const length = b0 * 65_536 + b1 * 256 + b2;
    const mine = type === HEADERS || type === CONTINUATION;
    if (this.#block && type !== CONTINUATION)
      throw new HpackError("another frame within a header block");
    if (!mine) {
      out.push(this.#take(FRAME_HEADER_BYTES));
      this.#passing = length;
      return true;
    }
    if (length > MAX_FRAME_BYTES) throw new HpackError("a frame that is too long");
    if (this.#held.length < FRAME_HEADER_BYTES + length) return false;
    const frame = this.#take(FRAME_HEADER_BYTES + length);
    const streamId = readStreamId(frame);
    if (type === HEADERS) this.#openBlock(frame, flags, streamId);
    else this.#extendBlock(frame.subarray(FRAME_HEADER_BYTES), streamId);
    if (flags & FLAG_END_HEADERS) appendAll(out, this.#closeBlock());
    return true;
  }

  #openBlock(frame: Uint8Array, flags: number, streamId: number): void {
    let from = FRAME_HEADER_BYTES;
    let to = frame.length;
    if (flags & FLAG_PADDED) {
      to -= frame[from] ?? 0;
      from += 1;
    }
    if (flags & FLAG_PRIORITY) from += 5;
    if (from > to) throw new HpackError("a header frame that is padding only");
    const part = frame.subarray(from, to);
    this.#block = {
      streamId,
      endStream: (flags & FLAG_END_STREAM) !== 0,
      parts: [part],
      bytes: part.length,
    };
  }

  #extendBlock(part: Uint8Array, streamId: number): void {
    const block = this.#block;
    if (block?.streamId !== streamId) throw new HpackError("CONTINUATION without HEADERS");
    block.parts.push(part);
    // Every frame counts, so that endless empty ones come to an end too.
    block.bytes += part.length + FRAME_HEADER_BYTES;
    if (block.bytes > MAX_HEADER_BYTES) throw new HpackError("a header block that is too long");
  }

  #closeBlock(): readonly Uint8Array[] {
    const block = this.#block;
    this.#block = undefined;
    if (!block) return [];
    const fields = this.#decoder.decode(joined(block.parts));
    return headerFrames(encodeHeaders(withAuthority(fields)), block);
  }

  #take(bytes: number): Uint8Array {
    const taken = this.#held.subarray(0, bytes);
    this.#held = this.#held.subarray(bytes);
    return taken;
  }
}

/** The fields with an authority that can stand; trailers have none and get none. */
export function withAuthority(fields: readonly HeaderField[]): readonly HeaderField[] {
  const named = fields.map((field) => ({ field, name: latin1(field.name) }));
  if (!named.some(({ name }) => name === ":method")) return fields;
  const repaired = named.map(({ field, name }) =>
    name === AUTHORITY && !ACCEPTABLE.test(latin1(field.value))
      ? { ...field, value: REPLACEMENT }
      : field,
  );
  if (named.some(({ name }) => name === AUTHORITY || name === "host")) return repaired;
  return [{ name: ascii(AUTHORITY), value: REPLACEMENT, neverIndexed: false }, ...repaired];
}

function headerFrames(encoded: Uint8Array, { streamId, endStream }: OpenBlock): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let from = 0; from === 0 || from < encoded.length; from += MAX_FRAME_BYTES) {
    const part = encoded.subarray(from, from + MAX_FRAME_BYTES);
    const last = from + MAX_FRAME_BYTES >= encoded.length;
    const flags = (last ? FLAG_END_HEADERS : 0) | (from === 0 && endStream ? FLAG_END_STREAM : 0);
    frames.push(frameHeader(part.length, from === 0 ? HEADERS : CONTINUATION, flags, streamId));
    frames.push(part);
  }
  return frames;
}

function frameHeader(length: number, type: number, flags: number, streamId: number): Uint8Array {
  const header = new Uint8Array(FRAME_HEADER_BYTES);
  const view = new DataView(header.buffer);
  view.setUint8(0, length >> 16);
  view.setUint16(1, length & 0xffff);
  view.setUint8(3, type);
  view.setUint8(4, flags);
  view.setUint32(5, streamId);
  return header;
}

function readStreamId(frame: Uint8Array): number {
  return new DataView(frame.buffer, frame.byteOffset).getUint32(5) & 0x7fff_ffff;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

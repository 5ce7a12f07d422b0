// pure
/**
 * Lets requests through whose `:authority` Node's HTTP/2 server would refuse. Clients of gRPC for Go before
 * 1.57 that dial a unix socket through a dialer of their own send the socket's path (or nothing) there, and
 * nghttp2 resets such a stream without a word. This reads what a client sends, decodes every header block,
 * puts `localhost` where the authority cannot stand, and says the block again without compression.
 */
import { appendAll } from "../../kit/limits/lists.ts";
import {
  FLAG,
  FRAME,
  FRAME_HEAD_BYTES,
  frame,
  Http2FrameReader,
  PREFACE,
} from "../http2/frames.ts";
import {
  ascii,
  encodeHeaders,
  type HeaderField,
  HpackDecoder,
  HpackError,
} from "../http2/hpack.ts";
import { blockPartOf, protocolError } from "../http2/payloads.ts";

/** SETTINGS_MAX_FRAME_SIZE that the server leaves at its default. */
const MAX_FRAME_BYTES = 16_384;
/** SETTINGS_HEADER_TABLE_SIZE likewise. */
const TABLE_BYTES = 4096;
/** Longest header block, compressed and not; what gRPC sends is below 1 KiB. */
const MAX_HEADER_BYTES = 64 * 1024;

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

/**
 * How the bytes are read: `preface` until the client's connection preface is there, whose beginning is held; then frame by
 * frame. What is not HTTP/2 is left for the server to refuse.
 */
type Reading =
  | { readonly kind: "preface"; readonly held: Buffer }
  | { readonly kind: "frames" }
  | { readonly kind: "foreign" };

/** The bytes of one connection from client to server, as they come in and as they go on. */
export class RequestRepair {
  readonly #decoder = new HpackDecoder({ tableBytes: TABLE_BYTES, listBytes: MAX_HEADER_BYTES });
  readonly #reader = new Http2FrameReader({
    frame: (type, flags, streamId, payload) => this.#take(type, flags, streamId, payload),
  });
  #reading: Reading = { kind: "preface", held: Buffer.alloc(0) };
  #block: OpenBlock | undefined;
  #repaired: Uint8Array[] = [];

  /** Takes what arrived and returns what goes on to the server. Throws `HpackError` or `Http2Error` when the peer is broken. */
  push(chunk: Uint8Array): readonly Uint8Array[] {
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    this.#repaired = [];
    switch (this.#reading.kind) {
      case "preface":
        this.#readPreface(Buffer.concat([this.#reading.held, piece]));
        break;
      case "frames":
        this.#reader.push(piece);
        break;
      case "foreign":
        return [piece];
      default:
        this.#reading satisfies never;
    }
    return this.#repaired;
  }

  #readPreface(bytes: Buffer): void {
    const start = bytes.subarray(0, PREFACE.length);
    if (!PREFACE.subarray(0, start.length).equals(start)) {
      this.#reading = { kind: "foreign" };
      this.#repaired.push(bytes);
    } else if (start.length < PREFACE.length) {
      this.#reading = { kind: "preface", held: bytes };
    } else {
      this.#reading = { kind: "frames" };
      this.#repaired.push(PREFACE);
      this.#reader.push(bytes.subarray(PREFACE.length));
    }
  }

  #take(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (this.#block && type !== FRAME.continuation)
      throw protocolError("another frame within a header block");
    if (type === FRAME.headers) this.#openBlock(flags, streamId, payload);
    else if (type === FRAME.continuation) this.#extendBlock(flags, streamId, payload);
    else this.#repaired.push(frame(type, flags, streamId, payload));
  }

  #openBlock(flags: number, streamId: number, payload: Buffer): void {
    const part = Buffer.from(blockPartOf(flags, payload));
    const endStream = (flags & FLAG.endStream) !== 0;
    this.#block = { streamId, endStream, parts: [part], bytes: part.length };
    if (flags & FLAG.endHeaders) this.#closeBlock(this.#block);
  }

  #extendBlock(flags: number, streamId: number, payload: Buffer): void {
    const block = this.#block;
    if (block?.streamId !== streamId) throw protocolError("CONTINUATION without HEADERS");
    block.parts.push(Buffer.from(payload));
    // Every frame counts, so that endless empty ones come to an end too.
    block.bytes += payload.length + FRAME_HEAD_BYTES;
    if (block.bytes > MAX_HEADER_BYTES) throw new HpackError("a header block that is too long");
    if (flags & FLAG.endHeaders) this.#closeBlock(block);
  }

  #closeBlock(block: OpenBlock): void {
    this.#block = undefined;
    const fields = this.#decoder.decode(Buffer.concat(block.parts));
    appendAll(this.#repaired, headerFrames(encodeHeaders(withAuthority(fields)), block));
  }
}

/** The fields with an authority that can stand; trailers have none and get none. */
function withAuthority(fields: readonly HeaderField[]): readonly HeaderField[] {
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
    const isLast = from + MAX_FRAME_BYTES >= encoded.length;
    const end = isLast ? FLAG.endHeaders : 0;
    const flags = from === 0 && endStream ? end | FLAG.endStream : end;
    frames.push(frame(from === 0 ? FRAME.headers : FRAME.continuation, flags, streamId, part));
  }
  return frames;
}

function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

import { deserialize, serialize } from "node:v8";

/** Bytes of a frame's length prefix. */
const HEADER_BYTES = 4;

/** Longest frame: payloads of volumes are bounded by the API server, reads by their callers. */
const MAX_FRAME_BYTES = 64 * 1024 * 1024;

/** A message as it goes through a pipe: its length, then its structured clone (node:v8 serialize). */
export function encodeFrame(message: unknown): Buffer {
  const body = serialize(message);
  if (body.length > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${body.length} bytes`);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  frame.writeUInt32LE(body.length, 0);
  body.copy(frame, HEADER_BYTES);
  return frame;
}

/** Puts frames together again out of the pieces in which a pipe delivers them. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Length of the frame that is on its way; unknown before its header is complete. */
  #expected: number | undefined;

  /** The messages that are complete with this piece, oldest first. Throws `RangeError` for a frame too long. */
  push(piece: Buffer): readonly unknown[] {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    const messages: unknown[] = [];
    for (;;) {
      this.#expected ??= this.#header();
      if (this.#expected === undefined || this.#bytes < this.#expected) return messages;
      const body = this.#take(this.#expected);
      this.#expected = undefined;
      messages.push(deserialize(body));
    }
  }

  #header(): number | undefined {
    if (this.#bytes < HEADER_BYTES) return undefined;
    const length = this.#take(HEADER_BYTES).readUInt32LE(0);
    if (length > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${length} bytes`);
    return length;
  }

  #take(count: number): Buffer {
    const [first] = this.#pieces;
    const all =
      first !== undefined && first.length >= count
        ? first
        : Buffer.concat(this.#pieces, this.#bytes);
    if (all === first) this.#pieces.shift();
    else this.#pieces = [];
    if (all.length > count) this.#pieces.unshift(all.subarray(count));
    this.#bytes -= count;
    return all.subarray(0, count);
  }
}

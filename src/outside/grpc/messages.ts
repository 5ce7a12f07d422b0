// pure
import { GrpcError } from "./status.ts";

/** Before every message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;
const RESOURCE_EXHAUSTED = 8;
const INTERNAL = 13;
const NONE: readonly Uint8Array[] = [];

/** A message as it goes over the wire. Throws when it is longer than `maxBytes`. */
export function frameMessage(message: Uint8Array, maxBytes: number): Uint8Array {
  if (message.length > maxBytes)
    throw tooLarge("trying to send message larger than max", message.length, maxBytes);
  const frame = new Uint8Array(PREFIX_BYTES + message.length);
  frame[1] = message.length >>> 24;
  frame[2] = message.length >>> 16;
  frame[3] = message.length >>> 8;
  frame[4] = message.length;
  frame.set(message, PREFIX_BYTES);
  return frame;
}

/** Takes messages out of the bytes of one answer, which come in pieces of any size. */
export class MessageReader {
  readonly #maxBytes: number;
  /** What has come of a message that is not complete. */
  #parts: Uint8Array[] = [];
  #bytes = 0;
  /** Length of that message with its prefix; 0 while that is not known. */
  #needed = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether the bytes so far end with the end of a message. */
  get isAtEnd(): boolean {
    return this.#bytes === 0;
  }

  /**
   * The messages that are complete with this piece; they may share its memory. Throws `GrpcError` for one that is
   * too long, or compressed, which nobody was asked for.
   */
  push(piece: Uint8Array): readonly Uint8Array[] {
    this.#parts.push(piece);
    this.#bytes += piece.length;
    if (!this.#isComplete()) return NONE;
    let rest = this.#joined();
    const messages: Uint8Array[] = [];
    do {
      messages.push(rest.subarray(PREFIX_BYTES, this.#needed));
      rest = rest.subarray(this.#needed);
      this.#parts = rest.length === 0 ? [] : [rest];
      this.#bytes = rest.length;
      this.#needed = 0;
    } while (this.#isComplete());
    return messages;
  }

  #isComplete(): boolean {
    if (this.#needed === 0 && this.#bytes >= PREFIX_BYTES) this.#needed = this.#readPrefix();
    return this.#needed > 0 && this.#bytes >= this.#needed;
  }

  #readPrefix(): number {
    const [compressed = 0, a = 0, b = 0, c = 0, d = 0] = this.#joined();
    if (compressed !== 0)
      throw new GrpcError(INTERNAL, "grpc: received a compressed message that was not asked for");
    const length = a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d;
    if (length > this.#maxBytes)
      throw tooLarge("received message larger than max", length, this.#maxBytes);
    return PREFIX_BYTES + length;
  }

  #joined(): Uint8Array {
    const [first = new Uint8Array()] = this.#parts;
    if (this.#parts.length <= 1) return first;
    const all = new Uint8Array(this.#bytes);
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    this.#parts = [all];
    return all;
  }
}

function tooLarge(what: string, bytes: number, maxBytes: number): GrpcError {
  return new GrpcError(RESOURCE_EXHAUSTED, `grpc: ${what} (${bytes} vs. ${maxBytes})`);
}

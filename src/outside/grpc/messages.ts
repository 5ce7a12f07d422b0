// pure
import { GRPC_STATUS, GrpcError } from "./status.ts";

/** Before every message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;
const EMPTY = new Uint8Array();

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
  /** How much of the prefix of the message that is not complete is there, and the length that it says so far. */
  #prefixBytes = 0;
  #length = 0;
  /** What is there of that message; it grows with what comes, not with what its prefix announces. */
  #message: Uint8Array = EMPTY;
  #messageBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether the bytes so far end with the end of a message. */
  get isAtEnd(): boolean {
    return this.#prefixBytes === 0;
  }

  /**
   * The messages that are complete with this piece; they share no memory with it. Throws `GrpcError` for one that is
   * too long, or compressed, which nobody was asked for.
   */
  push(piece: Uint8Array): readonly Uint8Array[] {
    const messages: Uint8Array[] = [];
    for (let at = 0; at < piece.length; ) {
      if (this.#prefixBytes < PREFIX_BYTES) {
        this.#takePrefix(piece[at] ?? 0);
        at += 1;
      } else at += this.#takeMessage(piece.subarray(at, at + this.#length - this.#messageBytes));
      if (this.#prefixBytes < PREFIX_BYTES || this.#messageBytes < this.#length) continue;
      messages.push(this.#message);
      this.#prefixBytes = 0;
      this.#length = 0;
      this.#message = EMPTY;
      this.#messageBytes = 0;
    }
    return messages;
  }

  #takePrefix(byte: number): void {
    if (this.#prefixBytes > 0) this.#length = this.#length * 256 + byte;
    else if (byte !== 0)
      throw new GrpcError(
        GRPC_STATUS.Internal,
        "grpc: received a compressed message that was not asked for",
      );
    this.#prefixBytes += 1;
    if (this.#prefixBytes === PREFIX_BYTES && this.#length > this.#maxBytes)
      throw tooLarge("received message larger than max", this.#length, this.#maxBytes);
  }

  #takeMessage(part: Uint8Array): number {
    const needed = this.#messageBytes + part.length;
    if (this.#message.length < needed) {
      const size = Math.min(this.#length, Math.max(needed, 2 * this.#message.length));
      const larger = Buffer.allocUnsafe(size);
      larger.set(this.#message);
      this.#message = larger;
    }
    this.#message.set(part, this.#messageBytes);
    this.#messageBytes = needed;
    return part.length;
  }
}

function tooLarge(what: string, bytes: number, maxBytes: number): GrpcError {
  return new GrpcError(GRPC_STATUS.ResourceExhausted, `grpc: ${what} (${bytes} vs. ${maxBytes})`);
}

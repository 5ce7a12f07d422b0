// pure
const SMALLEST = 4 * 1024;
const NOTHING = Buffer.alloc(0);

/** Bytes that come in pieces, in one piece of memory: many small ones take no more than a few large ones. */
export class GrowingBytes {
  #memory: Buffer = NOTHING;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Copies the piece. */
  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#memory.length, SMALLEST));
      this.#memory.copy(larger, 0, 0, this.#length);
      this.#memory = larger;
    }
    this.#memory.set(piece, this.#length);
    this.#length = length;
  }

  /** What there is, which is forgotten. */
  take(): Buffer {
    const bytes = this.#memory.subarray(0, this.#length);
    this.#memory = NOTHING;
    this.#length = 0;
    return bytes;
  }
}

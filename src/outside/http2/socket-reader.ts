/** Takes what was read; the memory is valid during the call only. */
export type TakePiece = (piece: Buffer) => void;

/** How a socket of `node:net` or `node:tls` reads into memory of ours. */
interface OnRead {
  readonly buffer: Buffer;
  readonly callback: (bytes: number, memory: Uint8Array) => boolean;
}

/**
 * Reads a socket into one piece of memory, from which the frames are taken at once. A socket gets `onread` when it is
 * made; what it brings before there is somebody who takes it is kept.
 */
export class SocketReader {
  readonly onread: OnRead;
  #take: TakePiece | undefined;
  #early: Buffer[] = [];

  /** `bytes` is the most that is read at once. */
  constructor(bytes: number) {
    this.onread = {
      buffer: Buffer.allocUnsafeSlow(bytes),
      callback: (length, memory) => {
        const piece = memory.subarray(0, length) as Buffer;
        if (this.#take) this.#take(piece);
        else this.#early.push(Buffer.from(piece));
        return true;
      },
    };
  }

  /** From the end of this turn on `take` gets what is read, and what was read before. */
  attach(take: TakePiece): void {
    process.nextTick(() => {
      this.#take = take;
      const early = this.#early;
      this.#early = [];
      for (const piece of early) take(piece);
    });
  }
}

// pure
import { OutsideError } from "../../../kit/errors.ts";
import { GrowingBytes } from "./growing-bytes.ts";

/** Longest line that is put together; an API server refuses objects of a tenth of it. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;

const NEWLINE = 10;

/** Cuts a stream of bytes into lines; bytes of a line that is not complete yet are kept, up to a bound. */
export class LineSplitter {
  readonly #maxBytes: number;
  /** A line whose end has not come. */
  readonly #begun = new GrowingBytes();

  constructor(maxBytes = MAX_LINE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that `chunk` completes, without their ends and without empty ones. The chunk is not kept. */
  push(chunk: Uint8Array): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const line = this.#completed(chunk.subarray(from, at));
      if (line !== "") lines.push(line);
      from = at + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
    return lines;
  }

  /** The rest of an ended stream: a document without an end of line, or one that was cut. */
  rest(): string {
    return textOf(this.#begun.take());
  }

  #completed(part: Uint8Array): string {
    if (this.#begun.length === 0) {
      this.#limit(part);
      return textOf(part);
    }
    this.#keep(part);
    return this.rest();
  }

  #keep(part: Uint8Array): void {
    this.#limit(part);
    this.#begun.add(part);
  }

  #limit(part: Uint8Array): void {
    if (this.#begun.length + part.length > this.#maxBytes)
      throw new OutsideError(
        "invalid",
        `a line of the watch is longer than ${this.#maxBytes} bytes`,
      );
  }
}

const decoder = new TextDecoder();

function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

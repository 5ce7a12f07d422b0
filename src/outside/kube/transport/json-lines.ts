// pure
import { OutsideError } from "../../../kit/errors.ts";

/** Longest line that is put together; an API server refuses objects of a tenth of it. */
export const MAX_LINE_BYTES = 32 * 1024 * 1024;

const NEWLINE = 10;

/** Cuts a stream of bytes into lines; bytes of a line that is not complete yet are kept, up to a bound. */
export class LineSplitter {
  readonly #maxBytes: number;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(maxBytes = MAX_LINE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that `chunk` completes, without their ends and without empty ones. */
  push(chunk: Uint8Array): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at));
      const line = this.#take();
      if (line !== "") lines.push(line);
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  /** The rest of an ended stream: a document without an end of line, or one that was cut. */
  rest(): string {
    return this.#take();
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#bytes += part.length;
    if (this.#bytes > this.#maxBytes)
      throw new OutsideError(
        "invalid",
        `a line of the watch is longer than ${this.#maxBytes} bytes`,
      );
    this.#parts.push(part);
  }

  #take(): string {
    const parts = this.#parts;
    const bytes = this.#bytes;
    this.#parts = [];
    this.#bytes = 0;
    const [first] = parts;
    if (first === undefined) return "";
    if (parts.length === 1) return textOf(first);
    const joined = new Uint8Array(bytes);
    let at = 0;
    for (const part of parts) {
      joined.set(part, at);
      at += part.length;
    }
    return textOf(joined);
  }
}

const decoder = new TextDecoder();

function textOf(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

// pure

/** The two outputs of a container. */
export type LogStream = "stdout" | "stderr";

/** A piece of what a container wrote; `ends` means that its line is complete with it. */
export interface Fragment {
  /** RFC 3339 with nanoseconds, as the runtime wrote it. */
  readonly time: string;
  readonly stream: LogStream;
  readonly content: Uint8Array;
  readonly ends: boolean;
}

const NEWLINE = 0x0a;
const SPACE = 0x20;
/** Bytes in which the time, the stream and the tags of a line stand. */
export const HEAD_BYTES = 96;
/** A line is not gathered beyond this; what is longer comes in several fragments. */
export const LINE_BYTES = 256 * 1024;

interface Head {
  readonly time: string;
  readonly stream: LogStream;
  readonly partial: boolean;
  /** Offset of the content. */
  readonly length: number;
}

/** Reads the head of a line `<time> <stream> <tags> <content>`; `undefined` when it is none of CRI's. */
export function readHead(line: Uint8Array): Head | undefined {
  const afterTime = line.indexOf(SPACE);
  const afterStream = line.indexOf(SPACE, afterTime + 1);
  if (afterTime <= 0 || afterStream < 0 || afterStream > HEAD_BYTES) return undefined;
  const stream = ascii(line.subarray(afterTime + 1, afterStream));
  if (stream !== "stdout" && stream !== "stderr") return undefined;
  const space = line.indexOf(SPACE, afterStream + 1);
  const afterTags = space < 0 ? line.length : space;
  const tags = ascii(line.subarray(afterStream + 1, Math.min(afterTags, HEAD_BYTES)));
  return {
    time: ascii(line.subarray(0, afterTime)),
    stream,
    // Only the first tag matters; others are reserved.
    partial: tags === "P" || tags.startsWith("P:"),
    length: Math.min(afterTags + 1, line.length),
  };
}

function ascii(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

/**
 * Cuts a log into fragments as its bytes come, in any portions. Lines that are not CRI's are counted and
 * left out. Holds at most `LINE_BYTES` and one portion.
 */
export class FragmentReader {
  /** The beginning of a line whose end has not come. */
  #rest: Uint8Array = new Uint8Array();
  /** A line too long to be gathered, while more of it comes; without a head it is none of CRI's. */
  #long: { readonly head: Head | undefined } | undefined;
  #malformed = 0;

  /** Lines that could not be read. */
  get malformed(): number {
    return this.#malformed;
  }

  *read(bytes: Uint8Array): Generator<Fragment, void, void> {
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      yield* this.#line(bytes.subarray(from, end), true);
      from = end + 1;
    }
    if (from >= bytes.length) return;
    const rest = bytes.subarray(from);
    // What goes on is passed on as it comes: to gather it again would copy it many times over.
    if (this.#long || this.#rest.length + rest.length > LINE_BYTES) yield* this.#line(rest, false);
    else this.#rest = this.#rest.length === 0 ? rest.slice() : joined(this.#rest, rest);
  }

  /** The unfinished last line. */
  *end(): Generator<Fragment, void, void> {
    if (this.#rest.length > 0) yield* this.#line(new Uint8Array(), false);
    this.#long = undefined;
  }

  *#line(tail: Uint8Array, complete: boolean): Generator<Fragment, void, void> {
    const line = this.#rest.length === 0 ? tail : joined(this.#rest, tail);
    this.#rest = new Uint8Array();
    const continued = this.#long;
    const head = continued ? continued.head : readHead(line);
    this.#long = complete ? undefined : (continued ?? { head });
    if (!head) {
      if (line.length > 0 && !continued) this.#malformed += 1;
      return;
    }
    const { time, stream, partial } = head;
    const content = continued ? line : line.subarray(head.length);
    yield { time, stream, content, ends: complete && !partial };
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

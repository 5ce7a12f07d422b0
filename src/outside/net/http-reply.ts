// pure

/** Bytes of status lines, headers and chunk framing that one answer may have. */
export const MAX_HEAD_BYTES = 256 * 1024;

/** An answer as far as it was read. */
export interface HttpReply {
  readonly status: number;
  readonly location: string | undefined;
  /** At most the bytes that were asked for. */
  readonly body: Uint8Array;
  /** Whether the body is complete; if not, it is a prefix. */
  readonly complete: boolean;
}

/** A peer that does not speak HTTP/1, in the words of Go's net/http. */
export class MalformedReply extends Error {
  override readonly name = "MalformedReply";
}

type Framing =
  | { readonly kind: "head" }
  | { readonly kind: "length"; left: number }
  | { readonly kind: "untilClose" }
  | { readonly kind: "chunkSize" }
  | { readonly kind: "chunk"; left: number }
  | { readonly kind: "chunkEnd" }
  | { readonly kind: "done"; readonly complete: boolean };

const ASCII = new TextDecoder();

/**
 * Reads one HTTP/1 answer from its bytes, however they are cut, and keeps the first `maxBodyBytes`
 * of the body. As lenient as Go's client: bare line feeds, unknown versions of 1.x, no reason phrase.
 */
export class ReplyReader {
  readonly #maxBodyBytes: number;
  #framing: Framing = { kind: "head" };
  #head = emptyHead();
  readonly #body: Uint8Array[] = [];
  #bodyBytes = 0;
  #line = "";
  #headBytes = 0;

  constructor(maxBodyBytes: number) {
    this.#maxBodyBytes = maxBodyBytes;
  }

  /** Takes bytes; the answer as soon as it is known. Throws `MalformedReply`. */
  push(bytes: Uint8Array): HttpReply | undefined {
    let at = 0;
    let text: string | undefined;
    while (at < bytes.length) {
      const framing = this.#framing;
      switch (framing.kind) {
        case "done":
          return this.#reply(framing.complete);
        case "length":
        case "chunk": {
          const part = bytes.subarray(at, at + framing.left);
          at += part.length;
          framing.left -= part.length;
          this.#keep(part);
          if (this.#framing === framing && framing.left === 0) this.#partEnds(framing.kind);
          break;
        }
        case "untilClose":
          this.#keep(bytes.subarray(at));
          at = bytes.length;
          break;
        case "head":
        case "chunkSize":
        case "chunkEnd":
          text ??= latin1(bytes);
          at = this.#readLine(text, at, framing.kind);
          break;
        default:
          framing satisfies never;
      }
    }
    return this.#framing.kind === "done" ? this.#reply(this.#framing.complete) : undefined;
  }

  /** The peer will send no more. Throws `MalformedReply` when it left in the middle of its answer. */
  end(): HttpReply {
    const { kind } = this.#framing;
    if (kind === "untilClose" || kind === "done") return this.#reply(true);
    if (kind !== "head") throw new MalformedReply("unexpected EOF");
    throw this.#headBytes === 0 ? new MalformedReply("EOF") : broken("unexpected EOF");
  }

  #reply(complete: boolean): HttpReply {
    const body = new Uint8Array(this.#bodyBytes);
    let at = 0;
    for (const part of this.#body) {
      body.set(part, at);
      at += part.length;
    }
    const { status, location } = this.#head;
    return { status, location, body, complete };
  }

  #keep(part: Uint8Array): void {
    const capacity = this.#maxBodyBytes - this.#bodyBytes;
    const kept = part.length > capacity ? part.subarray(0, capacity) : part;
    this.#body.push(kept.slice());
    this.#bodyBytes += kept.length;
    const framing = this.#framing;
    const isWhole = framing.kind === "length" && framing.left === 0 && part.length <= capacity;
    if (this.#bodyBytes >= this.#maxBodyBytes && !isWhole) {
      this.#framing = { kind: "done", complete: false };
    }
  }

  #partEnds(kind: "length" | "chunk"): void {
    this.#framing = kind === "chunk" ? { kind: "chunkEnd" } : { kind: "done", complete: true };
  }

  #readLine(text: string, from: number, kind: "head" | "chunkSize" | "chunkEnd"): number {
    const lineEnd = text.indexOf("\n", from);
    const to = lineEnd < 0 ? text.length : lineEnd + 1;
    this.#headBytes += to - from;
    if (this.#headBytes > MAX_HEAD_BYTES) {
      throw new MalformedReply(
        `net/http: server response headers exceeded ${MAX_HEAD_BYTES} bytes; aborted`,
      );
    }
    this.#line += text.slice(from, to);
    if (lineEnd < 0) return to;
    const line = this.#line.slice(0, this.#line.endsWith("\r\n") ? -2 : -1);
    this.#line = "";
    if (kind === "head") this.#headLine(line);
    else if (kind === "chunkSize") this.#chunkSizeLine(line);
    else if (line === "") this.#framing = { kind: "chunkSize" };
    else throw new MalformedReply("malformed chunked encoding");
    return to;
  }

  #headLine(line: string): void {
    const head = this.#head;
    if (head.status === 0) head.status = parseStatusLine(line);
    else if (line !== "") addHeader(head, line);
    // Provisional: the answer proper follows.
    else if (head.status < 200 && head.status !== 101) this.#head = emptyHead();
    else this.#framing = framingOf(head);
  }

  #chunkSizeLine(line: string): void {
    const size = line.replace(/;.*/, "").trim();
    if (!/^[0-9a-f]{1,13}$/i.test(size)) {
      throw new MalformedReply(
        size === "" ? "malformed chunked encoding" : "invalid byte in chunk length",
      );
    }
    const left = Number.parseInt(size, 16);
    this.#framing = left === 0 ? { kind: "done", complete: true } : { kind: "chunk", left };
  }
}

function broken(why: string): MalformedReply {
  return new MalformedReply(`net/http: HTTP/1.x transport connection broken: ${why}`);
}

const QUOTED_CHARS = 128;

/** The peer's bytes quoted as in Go: bytes that are not text as `\\x15`. */
function quoted(text: string): string {
  return JSON.stringify(text.slice(0, QUOTED_CHARS))
    .replace(/\\u00([0-9a-f]{2})/g, "\\x$1")
    .replace(/[\x7f-\xff]/g, (char) => `\\x${char.charCodeAt(0).toString(16)}`);
}

interface Head {
  /** 0 until the status line was read. */
  status: number;
  location: string | undefined;
  lengths: string[];
  chunked: boolean;
}

function emptyHead(): Head {
  return { status: 0, location: undefined, lengths: [], chunked: false };
}

function parseStatusLine(line: string): number {
  const [, version, rest] = /^(\S+) +(.*)$/.exec(line) ?? [];
  if (version === undefined || rest === undefined) {
    throw broken(`malformed HTTP response ${quoted(line)}`);
  }
  const status = rest.split(" ", 1)[0] ?? "";
  if (!/^\d{3}$/.test(status)) {
    throw broken(`malformed HTTP status code ${quoted(status)}`);
  }
  if (!/^HTTP\/\d\.\d$/.test(version)) {
    throw broken(`malformed HTTP version ${quoted(version)}`);
  }
  return Number(status);
}

function addHeader(head: Head, line: string): void {
  const colon = line.indexOf(":");
  if (colon < 0) {
    // A line that begins with a space continues the one before; none that matters here is ever cut.
    if (/^[ \t]/.test(line)) return;
    throw broken(`malformed MIME header line: ${line.slice(0, QUOTED_CHARS)}`);
  }
  const value = line.slice(colon + 1).trim();
  switch (line.slice(0, colon).toLowerCase()) {
    case "location":
      head.location ??= value;
      break;
    case "content-length":
      head.lengths.push(value);
      break;
    case "transfer-encoding":
      if (value.toLowerCase() !== "chunked") {
        throw broken(`unsupported transfer encoding: ${quoted(value)}`);
      }
      head.chunked = true;
      break;
  }
}

function framingOf({ status, chunked, lengths }: Head): Framing {
  if (status === 101 || status === 204 || status === 304) return { kind: "done", complete: true };
  if (chunked) return { kind: "chunkSize" };
  const [length] = lengths;
  if (length === undefined) return { kind: "untilClose" };
  if (lengths.some((other) => other !== length)) {
    throw broken("http: message cannot contain multiple Content-Length headers");
  }
  if (!/^\d{1,15}$/.test(length)) {
    throw broken(`bad Content-Length ${quoted(length)}`);
  }
  const left = Number(length);
  return left === 0 ? { kind: "done", complete: true } : { kind: "length", left };
}

/** One character for each byte. */
function latin1(bytes: Uint8Array): string {
  if (isAscii(bytes)) return ASCII.decode(bytes);
  let text = "";
  // In pieces, because a call has a limit on its arguments.
  for (let at = 0; at < bytes.length; at += 4096)
    text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return text;
}

function isAscii(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte > 127) return false;
  return true;
}

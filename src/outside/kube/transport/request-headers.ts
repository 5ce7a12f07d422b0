// pure
/** Header blocks of requests to an API server. */
import { fieldBlock, staticField, textBytes, writeText } from "../../http2/request-fields.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const METHOD_FIELDS = Object.fromEntries(
  METHODS.map((method) => [method, staticField(":method", method)]),
) as Readonly<Record<(typeof METHODS)[number], Buffer>>;

/** What differs from request to request. */
export interface ApiRequestHead {
  readonly method: (typeof METHODS)[number];
  /** Path and query, percent-encoded. */
  readonly path: string;
  /** Of the body; absent when there is none. */
  readonly contentType?: string | undefined;
  readonly authorization?: string | undefined;
  /** Whether the answer may be compressed. */
  readonly acceptsGzip: boolean;
  /** Further fields, which cannot replace those of the transport. */
  readonly fields?: Readonly<Record<string, string>> | undefined;
}

/** Fields that all requests have. */
interface ApiConstantHead {
  readonly authority: string;
  readonly userAgent: string;
  /** Fields of impersonation. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Content types whose fields are kept; there are five. */
const MAX_TYPES = 16;
/** API servers refuse more (http.DefaultMaxHeaderBytes in Go). */
const MAX_BLOCK_BYTES = 1024 * 1024;

/** A path that needs no more encoding. */
const PATH = /^[\x21-\x7e]+$/;
/** A literal without indexing whose name is the static table's fourth: `:path`. */
const PATH_NAME = 0x04;

const NOTHING = Buffer.alloc(0);
const ACCEPT_GZIP = fieldBlock({ "accept-encoding": "gzip" });
/** Fields of HTTP/1.1's connections (RFC 9113, 8.2.2), and those that are the transport's. */
const NOT_FROM_CALLERS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "host",
  "te",
  "accept",
  "accept-encoding",
  "user-agent",
  "content-type",
  "content-length",
  "authorization",
]);

/** Writes the header blocks of requests to one server. Fields that hardly change are encoded once. */
export class ApiHeaderWriter {
  readonly #constant: ApiConstantHead;
  #start: Buffer | undefined;
  readonly #types = new Map<string, Buffer>();
  #authorization: { readonly value: string; readonly field: Buffer } | undefined;

  constructor(constant: ApiConstantHead) {
    this.#constant = constant;
  }

  /** The block of a request. Throws `RangeError` for fields that cannot be sent. */
  write({ method, path, contentType, authorization, acceptsGzip, fields }: ApiRequestHead): Buffer {
    if (!PATH.test(path)) throw new RangeError("a path that cannot be sent");
    const methodField = METHOD_FIELDS[method];
    this.#start ??= startOf(this.#constant);
    const start = this.#start;
    const type = contentType === undefined ? NOTHING : this.#typeField(contentType);
    const secret = authorization === undefined ? NOTHING : this.#authorizationField(authorization);
    const others = fields === undefined ? NOTHING : fieldBlock(withoutOwn(fields));
    const accepted = acceptsGzip ? ACCEPT_GZIP : NOTHING;
    const pathBytes = 1 + textBytes(path);
    const length =
      methodField.length + pathBytes + start.length + type.length + secret.length + accepted.length;
    if (length + others.length > MAX_BLOCK_BYTES)
      throw new RangeError(`headers of more than ${MAX_BLOCK_BYTES} bytes`);
    const block = Buffer.allocUnsafe(length + others.length);
    block.set(methodField);
    let at = methodField.length;
    block[at] = PATH_NAME;
    at = writeText(block, at + 1, path);
    for (const part of [start, type, accepted, secret, others]) {
      if (part.length > 0) block.set(part, at);
      at += part.length;
    }
    return block;
  }

  #typeField(contentType: string): Buffer {
    const kept = this.#types.get(contentType);
    if (kept) return kept;
    const field = fieldBlock({ "content-type": contentType });
    if (this.#types.size >= MAX_TYPES) this.#types.clear();
    this.#types.set(contentType, field);
    return field;
  }

  #authorizationField(value: string): Buffer {
    if (this.#authorization?.value !== value) {
      const field = fieldBlock({ authorization: value }, { isSecret: true, onlyAscii: true });
      this.#authorization = { value, field };
    }
    return this.#authorization.field;
  }
}

function startOf({ authority, userAgent, fields }: ApiConstantHead): Buffer {
  return Buffer.concat([
    staticField(":scheme", "https"),
    fieldBlock({ ":authority": authority }, { onlyAscii: true }),
    fieldBlock({ accept: "application/json", "user-agent": userAgent }),
    fieldBlock(withoutOwn(fields)),
  ]);
}

/** Names of HTTP/2 are in lower case. */
function withoutOwn(fields: Readonly<Record<string, string>>): Record<string, string> {
  const lower = Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(
    lower.filter(([name]) => !NOT_FROM_CALLERS.has(name) && !name.startsWith(":")),
  );
}

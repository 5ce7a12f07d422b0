// pure
/** Header blocks of gRPC requests, encoded without any table (RFC 7541, 6.2.2). */
import { fieldBlock } from "../http2/request-fields.ts";

/** What differs from call to call. */
export interface GrpcRequestHead {
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Value of `grpc-timeout`: at most eight digits and a unit. */
  readonly timeout: string | undefined;
  /** Further fields, their names in lower case. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Methods whose headers are kept; there are some forty. */
const MAX_KEPT = 128;
/** With more than this a block could need a second frame. */
const MAX_BLOCK_BYTES = 8 * 1024;

/** A literal field of this name, up to its value. */
const TIMEOUT = encoded({ "grpc-timeout": "" }).subarray(0, -1);

/** Writes the header blocks of requests to one server. */
export class RequestHeaderWriter {
  readonly #authority: string;
  /** The start of a block, by path. */
  readonly #starts = new Map<string, Uint8Array>();

  constructor(authority: string) {
    this.#authority = authority;
  }

  /** The block of a request. Throws `RangeError` for fields that cannot be sent. */
  write({ path, timeout = "", fields }: GrpcRequestHead): Uint8Array {
    const start = this.#startOf(path);
    const others = encoded(fields);
    const timeoutBytes = timeout === "" ? 0 : TIMEOUT.length + 1 + timeout.length;
    const length = start.length + timeoutBytes + others.length;
    if (length > MAX_BLOCK_BYTES)
      throw new RangeError(`headers of ${length} bytes, which is more than ${MAX_BLOCK_BYTES}`);
    const block = Buffer.allocUnsafe(length);
    block.set(start);
    if (timeoutBytes > 0) {
      const at = start.length + TIMEOUT.length;
      block.set(TIMEOUT, start.length);
      block[at] = timeout.length;
      block.write(timeout, at + 1, "latin1");
    }
    if (others.length > 0) block.set(others, length - others.length);
    return block;
  }

  #startOf(path: string): Uint8Array {
    const kept = this.#starts.get(path);
    if (kept) return kept;
    const start = encoded({
      ":method": "POST",
      ":scheme": "http",
      ":path": path,
      ":authority": this.#authority,
      te: "trailers",
      "content-type": "application/grpc",
      "user-agent": "grpc-nodelet",
    });
    if (this.#starts.size >= MAX_KEPT) this.#starts.clear();
    this.#starts.set(path, start);
    return start;
  }
}

function encoded(fields: Readonly<Record<string, string>>): Buffer {
  return fieldBlock(fields, { onlyAscii: true });
}

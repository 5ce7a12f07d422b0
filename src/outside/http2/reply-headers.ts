// pure
/** Header blocks of replies, decoded and validated (RFC 9113, 8.2 and 8.3). */

import { CODE, Http2Error } from "./frames.ts";
import { type HeaderField, HpackDecoder, HpackError, HpackListError } from "./hpack.ts";

/** Fields by name; several of one name are joined by commas. `:status` is a number, and missing in trailers. */
export interface Http2Fields {
  readonly [name: string]: string | undefined;
}

/** Of an answer without trailers. */
export const NO_FIELDS: Http2Fields = Object.freeze({});

/** A block as it is understood: fields, or why this one stream has to end. */
type DecodedBlock =
  | { readonly kind: "headers"; readonly status: number; readonly fields: Http2Fields }
  | { readonly kind: "trailers"; readonly fields: Http2Fields }
  | { readonly kind: "malformed"; readonly message: string }
  | { readonly kind: "tooLong"; readonly message: string };

/** Largest dynamic table that the server may use: SETTINGS_HEADER_TABLE_SIZE is left at its default. */
const TABLE_BYTES = 4096;
/** Blocks that are recognized: what a server says at the beginning and at the end of an answer hardly differs. */
const MAX_KNOWN_BLOCKS = 4;

/** Field names are lower case tokens (RFC 9110, 5.6.2). */
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** Visible characters, blanks, tabs and bytes above ASCII; no blanks around them. */
const VALUE = /^(?![ \t])[\t\x20-\x7e\x80-\xff]*(?<![ \t])$/;
const STATUS = /^[1-5]\d\d$/;
const STATUS_NAME = ":status";
/** Fields of a connection of HTTP/1.1 (RFC 9113, 8.2.2). */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** A field as text, and whether it can stand among others. */
interface TextField {
  readonly name: string;
  readonly value: string;
  readonly isValid: boolean;
}

/** Why a header block cannot stand where it does in its stream (RFC 9113, 8.1). */
export function blockError(
  decoded: DecodedBlock,
  hasHeaders: boolean,
  endStream: boolean,
): string | undefined {
  switch (decoded.kind) {
    case "malformed":
    case "tooLong":
      return decoded.message;
    case "headers":
      if (hasHeaders) return "headers after headers";
      return decoded.status < 200 && endStream ? "an interim answer as the last one" : undefined;
    case "trailers":
      if (!hasHeaders) return "headers without :status";
      return endStream ? undefined : "trailers that are not the end";
    default:
      return decoded satisfies never;
  }
}

/** Reads the header blocks of one connection, in order. */
export class ReplyHeaderReader {
  readonly #decoder: HpackDecoder;
  /** Blocks with what they mean, as long as the dynamic table is what it was. */
  #known: { readonly block: Buffer; readonly decoded: DecodedBlock }[] = [];
  #knownAt = 0;
  /** Fields that are in a table come again. */
  readonly #texts = new WeakMap<HeaderField, TextField>();

  constructor(listBytes: number) {
    this.#decoder = new HpackDecoder({ tableBytes: TABLE_BYTES, listBytes });
  }

  /** Throws `Http2Error` when the block cannot be decoded, and so none that follows. */
  read(block: Uint8Array): DecodedBlock {
    const decoder = this.#decoder;
    if (this.#knownAt === decoder.changes)
      for (const known of this.#known) if (known.block.equals(block)) return known.decoded;
    const before = decoder.changes;
    const decoded = this.#decode(block);
    if (decoder.changes === before) this.#remember(block, decoded);
    return decoded;
  }

  #decode(block: Uint8Array): DecodedBlock {
    try {
      return this.#validated(this.#decoder.decode(block));
    } catch (error) {
      if (error instanceof HpackListError) return { kind: "tooLong", message: error.message };
      if (error instanceof HpackError) throw new Http2Error(CODE.compression, error.message);
      throw error;
    }
  }

  #validated(list: readonly HeaderField[]): DecodedBlock {
    // Without a prototype, as the names are the peer's.
    const fields = Object.create(null) as Record<string, string>;
    let status: number | undefined;
    let isFirst = true;
    for (const field of list) {
      const { name, value, isValid } = this.#textOf(field);
      if (!isValid || (name === STATUS_NAME && !isFirst))
        return { kind: "malformed", message: `a field ${JSON.stringify(name)} that cannot stand` };
      isFirst = false;
      if (name === STATUS_NAME) status = Number(value);
      else {
        const former = fields[name];
        fields[name] = former === undefined ? value : `${former}, ${value}`;
      }
    }
    return status === undefined
      ? { kind: "trailers", fields }
      : { kind: "headers", status, fields };
  }

  #textOf(field: HeaderField): TextField {
    let text = this.#texts.get(field);
    if (text === undefined) {
      text = textField(field);
      this.#texts.set(field, text);
    }
    return text;
  }

  #remember(block: Uint8Array, decoded: DecodedBlock): void {
    if (this.#knownAt !== this.#decoder.changes || this.#known.length >= MAX_KNOWN_BLOCKS)
      this.#known = [];
    this.#knownAt = this.#decoder.changes;
    this.#known.push({ block: Buffer.from(block), decoded });
  }
}

function textField(field: HeaderField): TextField {
  const name = latin1(field.name);
  const value = latin1(field.value);
  const isValid =
    name === STATUS_NAME
      ? STATUS.test(value)
      : NAME.test(name) && VALUE.test(value) && !OF_CONNECTIONS.has(name);
  return { name, value, isValid };
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

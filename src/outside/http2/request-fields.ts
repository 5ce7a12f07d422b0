// pure
/** Parts of the header blocks of requests, as literals that touch no table (RFC 7541, 6.2.2 and 6.2.3). */
import { STATIC_TABLE } from "./hpack-tables.ts";

/** Field names are lower case tokens (RFC 9110, 5.6.2). */
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** Neither control characters but tabs, nor blanks around it (RFC 9113, 8.2.1). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
const VALUE = /^(?![ \t])[^\x00-\x08\x0a-\x1f\x7f]*(?<![ \t])$/;
const ONLY_ASCII = /^[\x20-\x7e]*$/;

const NOT_INDEXED = 0x00;
const NEVER_INDEXED = 0x10;
/** Longest length that its first byte can hold. */
const SHORT = 0x7e;

const NOTHING = Buffer.alloc(0);

/** How fields are encoded. */
interface FieldTerms {
  /** Credentials, which nobody on the way may keep in a table (RFC 7541, 7.1.3). */
  readonly isSecret?: boolean;
  /** Refuses values with other characters; they are sent as UTF-8 otherwise. */
  readonly onlyAscii?: boolean;
}

/**
 * The fields one after the other, their names in lower case. Throws `RangeError` for names and values that cannot be sent,
 * without the value.
 */
export function fieldBlock(
  fields: Readonly<Record<string, string>>,
  { isSecret = false, onlyAscii = false }: FieldTerms = {},
): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (!NAME.test(name) || !VALUE.test(value) || (onlyAscii && !ONLY_ASCII.test(value)))
      throw new RangeError(`a header ${JSON.stringify(name)} that cannot be sent`);
    parts.push(Buffer.from([isSecret ? NEVER_INDEXED : NOT_INDEXED]));
    parts.push(literal(name), literal(value));
  }
  return parts.length === 0 ? NOTHING : Buffer.concat(parts);
}

/** A field that stands in the static table with its value (RFC 7541, 6.1), as a literal otherwise. */
export function staticField(name: string, value: string): Buffer {
  const index = STATIC_TABLE.findIndex((entry) => entry[0] === name && entry[1] === value);
  return index < 0 ? fieldBlock({ [name]: value }) : Buffer.from([0x80 | (index + 1)]);
}

/** Bytes of a text of ASCII with its length before it. */
export function textBytes(text: string): number {
  let bytes = 1 + text.length;
  if (text.length > SHORT) {
    bytes += 1;
    for (let rest = text.length - SHORT - 1; rest >= 0x80; rest >>>= 7) bytes += 1;
  }
  return bytes;
}

/** Writes a text of ASCII with its length before it (RFC 7541, 5.2); the result is where it ends. */
export function writeText(block: Buffer, from: number, text: string): number {
  const at = writeLength(block, from, text.length);
  block.write(text, at, "latin1");
  return at + text.length;
}

function writeLength(block: Uint8Array, from: number, length: number): number {
  let at = from;
  if (length <= SHORT) block[at++] = length;
  else {
    block[at++] = SHORT + 1;
    let rest = length - SHORT - 1;
    for (; rest >= 0x80; rest >>>= 7) block[at++] = (rest & 0x7f) | 0x80;
    block[at++] = rest;
  }
  return at;
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  const length = Buffer.alloc(6);
  return Buffer.concat([length.subarray(0, writeLength(length, 0, bytes.length)), bytes]);
}

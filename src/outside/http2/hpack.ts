// pure
/** Header compression of HTTP/2 (RFC 7541): decoding with all its forms, encoding with the one that needs no table. */
import { HUFFMAN_BITS, STATIC_TABLE } from "./hpack-tables.ts";

/** One header field; names and values are bytes, mostly ASCII. */
export interface HeaderField {
  readonly name: Uint8Array;
  readonly value: Uint8Array;
  /** Must not be compressed by anybody on the way (RFC 7541, 7.1.3). */
  readonly neverIndexed: boolean;
}

/** The peer's header block breaks the rules; the connection is of no use any more (COMPRESSION_ERROR). */
export class HpackError extends Error {
  override readonly name = "HpackError";
}

/** A block whose fields are too large together. It was read to its end, so the blocks after it can be. */
export class HpackListError extends HpackError {}

/** Bounds that keep a hostile peer from filling memory. */
interface HpackLimits {
  /** Largest dynamic table that the peer may use: what our side announced. */
  readonly tableBytes: number;
  /** Largest sum of names and values of one block, each field counted with 32 bytes on top. */
  readonly listBytes: number;
}

/** Overhead of a table entry beside its texts (RFC 7541, 4.1). */
const FIELD_OVERHEAD_BYTES = 32;

const STATIC_FIELDS: readonly HeaderField[] = STATIC_TABLE.map(([name, value]) => ({
  name: ascii(name),
  value: ascii(value),
  neverIndexed: false,
}));

/** ASCII text as bytes. */
export function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

/** Reads the header blocks of one connection, in order; keeps the dynamic table between them. */
export class HpackDecoder {
  readonly #limits: HpackLimits;
  /** Newest first. */
  readonly #dynamic: HeaderField[] = [];
  #dynamicBytes = 0;
  #maxBytes: number;
  #changes = 0;

  constructor(limits: HpackLimits) {
    this.#limits = limits;
    this.#maxBytes = limits.tableBytes;
  }

  /** How often the dynamic table has changed: while it has not, the same bytes mean the same fields. */
  get changes(): number {
    return this.#changes;
  }

  /** The fields of a whole header block; one that stands in a table is the same object each time. Throws `HpackError`. */
  decode(block: Uint8Array): readonly HeaderField[] {
    const input = new BlockReader(block);
    const fields: HeaderField[] = [];
    let listBytes = 0;
    while (!input.ended) {
      const field = this.#next(input, listBytes === 0);
      if (!field) continue;
      listBytes += sizeOf(field);
      if (listBytes <= this.#limits.listBytes) fields.push(field);
    }
    if (listBytes > this.#limits.listBytes)
      throw new HpackListError(`headers of more than ${this.#limits.listBytes} bytes`);
    return fields;
  }

  #next(input: BlockReader, first: boolean): HeaderField | undefined {
    const lead = input.peek();
    if (lead & 0x80) return this.#entry(input.integer(7));
    if ((lead & 0xe0) === 0x20) {
      if (!first) throw new HpackError("dynamic table size update after a header field");
      this.#resize(input.integer(5));
      return undefined;
    }
    const indexed = (lead & 0xc0) === 0x40;
    const index = input.integer(indexed ? 6 : 4);
    const name = index === 0 ? input.text() : this.#entry(index).name;
    const field = { name, value: input.text(), neverIndexed: (lead & 0xf0) === 0x10 };
    if (indexed) this.#add(field);
    return field;
  }

  #entry(index: number): HeaderField {
    const entry =
      index <= STATIC_FIELDS.length
        ? STATIC_FIELDS[index - 1]
        : this.#dynamic[index - STATIC_FIELDS.length - 1];
    if (!entry) throw new HpackError(`invalid header index ${index}`);
    return entry;
  }

  #resize(maxBytes: number): void {
    if (maxBytes > this.#limits.tableBytes)
      throw new HpackError(`dynamic table size of ${maxBytes} bytes exceeds the limit`);
    this.#maxBytes = maxBytes;
    this.#changes += 1;
    this.#evict();
  }

  #add(field: HeaderField): void {
    this.#dynamic.unshift(field);
    this.#dynamicBytes += sizeOf(field);
    this.#changes += 1;
    this.#evict();
  }

  #evict(): void {
    while (this.#dynamicBytes > this.#maxBytes) {
      const oldest = this.#dynamic.pop();
      if (!oldest) return;
      this.#dynamicBytes -= sizeOf(oldest);
    }
  }
}

/** The fields as literals that touch no table, so that no decoder state changes (RFC 7541, 6.2.2 and 6.2.3). */
export function encodeHeaders(fields: readonly HeaderField[]): Uint8Array {
  const out: number[] = [];
  for (const { name, value, neverIndexed } of fields) {
    out.push(neverIndexed ? 0x10 : 0x00);
    writeText(out, name);
    writeText(out, value);
  }
  return Uint8Array.from(out);
}

function sizeOf({ name, value }: HeaderField): number {
  return name.length + value.length + FIELD_OVERHEAD_BYTES;
}

function writeText(out: number[], text: Uint8Array): void {
  let rest = text.length;
  if (rest < 0x7f) out.push(rest);
  else {
    out.push(0x7f);
    for (rest -= 0x7f; rest >= 0x80; rest = Math.floor(rest / 0x80)) out.push((rest & 0x7f) | 0x80);
    out.push(rest);
  }
  for (const byte of text) out.push(byte);
}

/** Longest run of 7-bit groups of an integer; more would exceed what any length can be. */
const INTEGER_GROUPS = 4;

class BlockReader {
  readonly #block: Uint8Array;
  #at = 0;

  constructor(block: Uint8Array) {
    this.#block = block;
  }

  get ended(): boolean {
    return this.#at >= this.#block.length;
  }

  peek(): number {
    const byte = this.#block[this.#at];
    if (byte === undefined) throw new HpackError("the header block ends within a field");
    return byte;
  }

  integer(prefixBits: number): number {
    const mask = 2 ** prefixBits - 1;
    let value = this.peek() & mask;
    this.#at += 1;
    if (value < mask) return value;
    for (let group = 0; group < INTEGER_GROUPS; group += 1) {
      const byte = this.peek();
      this.#at += 1;
      value += (byte & 0x7f) * 2 ** (7 * group);
      if ((byte & 0x80) === 0) return value;
    }
    throw new HpackError("an integer that is too large");
  }

  text(): Uint8Array {
    const huffman = (this.peek() & 0x80) !== 0;
    const length = this.integer(7);
    const bytes = this.#block.subarray(this.#at, this.#at + length);
    if (bytes.length < length) throw new HpackError("the header block ends within a string");
    this.#at += length;
    return huffman ? decodeHuffman(bytes) : new Uint8Array(bytes);
  }
}

/** A node of the code's tree: the next nodes by bit, or the byte that the way to here stands for. */
interface HuffmanNode {
  readonly next: [HuffmanNode | undefined, HuffmanNode | undefined];
  byte: number | undefined;
}

function node(): HuffmanNode {
  return { next: [undefined, undefined], byte: undefined };
}

/** Codes are given out in the order of (length, byte), each one more than the one before. */
const HUFFMAN_TREE: HuffmanNode = (() => {
  const root = node();
  const order = HUFFMAN_BITS.map((bits, byte) => ({ bits, byte })).sort(
    (a, b) => a.bits - b.bits || a.byte - b.byte,
  );
  let code = 0;
  let length = 0;
  for (const { bits, byte } of order) {
    code *= 2 ** (bits - length);
    length = bits;
    let at = root;
    for (let bit = bits - 1; bit >= 0; bit -= 1) {
      const side = Math.floor(code / 2 ** bit) % 2 === 0 ? 0 : 1;
      at = at.next[side] ??= node();
    }
    at.byte = byte;
    code += 1;
  }
  return root;
})();

/** Codes of at most so many bits are looked up, which are those of letters, digits and what texts mostly have beside them. */
const SHORT_BITS = 8;
const SHORT_CODES = new Uint16Array(2 ** SHORT_BITS);

/** What the bits begin with: the code's length, and eight bits further up its byte; 0 where the code is longer. */
function fillShortCodes(): void {
  for (let bits = 0; bits < SHORT_CODES.length; bits += 1) {
    let at: HuffmanNode | undefined = HUFFMAN_TREE;
    for (let length = 1; length <= SHORT_BITS && at; length += 1) {
      at = at.next[(bits >> (SHORT_BITS - length)) & 1 ? 1 : 0];
      if (at?.byte === undefined) continue;
      SHORT_CODES[bits] = (at.byte << 8) | length;
      break;
    }
  }
}
fillShortCodes();

function decodeHuffman(bytes: Uint8Array): Uint8Array {
  return decodeShort(bytes) ?? decodeAny(bytes);
}

/** Undefined for a text with a long code, and for one that is not in order. */
function decodeShort(bytes: Uint8Array): Uint8Array | undefined {
  const out: number[] = [];
  let window = 0;
  let bits = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    window = ((window & 0xff) << 8) | (bytes[at] ?? 0);
    bits += 8;
    while (bits >= SHORT_BITS) {
      const code = SHORT_CODES[(window >> (bits - SHORT_BITS)) & 0xff] ?? 0;
      if (code === 0) return undefined;
      out.push(code >> 8);
      bits -= code & 0xff;
    }
  }
  // What is left is a last code and the padding, which is ones.
  for (;;) {
    const rest = (window & ((1 << bits) - 1)) << (SHORT_BITS - bits);
    const padded = rest | ((1 << (SHORT_BITS - bits)) - 1);
    if (padded === 0xff) return new Uint8Array(out);
    const code = SHORT_CODES[padded] ?? 0;
    if (code === 0 || (code & 0xff) > bits) return undefined;
    out.push(code >> 8);
    bits -= code & 0xff;
  }
}

function decodeAny(bytes: Uint8Array): Uint8Array {
  const out: number[] = [];
  let at = HUFFMAN_TREE;
  let pending = 0;
  let onlyOnes = true;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      const side = (byte >> bit) & 1 ? 1 : 0;
      const next = at.next[side];
      if (!next) throw new HpackError("invalid Huffman code");
      pending += 1;
      onlyOnes &&= side === 1;
      at = next;
      if (at.byte === undefined) continue;
      out.push(at.byte);
      at = HUFFMAN_TREE;
      pending = 0;
      onlyOnes = true;
    }
  }
  // Padding of the last byte is the start of the end-of-string code: ones only.
  if (pending > 7 || !onlyOnes) throw new HpackError("invalid Huffman padding");
  return Uint8Array.from(out);
}

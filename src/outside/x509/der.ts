// pure
import { parseTimestamp, rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";

/** Tags of DER that certificates are made of (X.690). */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  printable: 0x13,
  ia5: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Bit of a tag that marks content made of further elements. */
const CONSTRUCTED = 0x20;
const CONTEXT = 0x80;
/** Deepest nesting and most elements of one structure that are read; certificates need far less. */
const MAX_ELEMENTS = 1_000;
/** Latest year of a UTCTime. */
const LAST_UTC_TIME_YEAR = 2049;

/** One element with `contents` put together. */
export function der(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const length = contents.reduce((sum, part) => sum + part.length, 0);
  const size = lengthBytes(length);
  const out = new Uint8Array(1 + size.length + length);
  out[0] = tag;
  out.set(size, 1);
  let at = 1 + size.length;
  for (const part of contents) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function lengthBytes(length: number): readonly number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256);
  return [0x80 | bytes.length, ...bytes];
}

/** Elements in their order. */
export function derSequence(...parts: readonly Uint8Array[]): Uint8Array {
  return der(TAG.sequence, ...parts);
}

/** `[number]`; `primitive` holds a value in place of elements. */
export function derContext(
  number: number,
  form: "constructed" | "primitive",
  ...parts: readonly Uint8Array[]
): Uint8Array {
  return der(CONTEXT | (form === "constructed" ? CONSTRUCTED : 0) | number, ...parts);
}

/** A whole number that is not negative, given as its bytes, highest first. */
export function derInteger(bytes: readonly number[] | Uint8Array): Uint8Array {
  const all = [...bytes];
  while (all.length > 1 && all[0] === 0) all.shift();
  if (all.length === 0) all.push(0);
  if ((all[0] ?? 0) >= 0x80) all.unshift(0);
  return der(TAG.integer, Uint8Array.from(all));
}

/** Yes or no. */
export function derBoolean(value: boolean): Uint8Array {
  return der(TAG.boolean, Uint8Array.of(value ? 0xff : 0));
}

/** A string of whole bytes, or of bits of which the last `unused` do not count. */
export function derBits(bytes: Uint8Array, unused = 0): Uint8Array {
  return der(TAG.bitString, Uint8Array.of(unused), bytes);
}

/** Bytes as they are. */
export function derOctets(bytes: Uint8Array): Uint8Array {
  return der(TAG.octetString, bytes);
}

/** Text in UTF-8 under the tag of its string type. */
export function derText(tag: number, text: string): Uint8Array {
  return der(tag, new TextEncoder().encode(text));
}

/** `1.2.840.10045.4.3.2` */
export function derOid(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((arc) => {
    const septets = [arc % 128];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      septets.unshift((left % 128) | 0x80);
    return septets;
  });
  return der(TAG.oid, Uint8Array.from(bytes));
}

/** A time as certificates write it, cut to seconds. */
export function derTime(at: WallMs): Uint8Array {
  const digits = rfc3339(at).slice(0, 19).replaceAll(/[-T:]/g, "");
  return Number(digits.slice(0, 4)) > LAST_UTC_TIME_YEAR
    ? derText(TAG.generalizedTime, `${digits}Z`)
    : derText(TAG.utcTime, `${digits.slice(2)}Z`);
}

/** One element that was read. */
export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
  /** With tag and length, as signed. */
  readonly whole: Uint8Array;
}

/** The one element that `bytes` consists of. */
export function readDer(bytes: Uint8Array): DerElement {
  const [element, ...more] = readElements(bytes);
  if (!element || more.length > 0) throw broken("not exactly one element");
  return element;
}

/** The elements of a constructed one; a wrong tag is an `OutsideError` "invalid". */
export function childrenOf(element: DerElement, tag: number = TAG.sequence): readonly DerElement[] {
  if (element.tag !== tag) throw broken(`tag ${element.tag} where ${tag} is expected`);
  return readElements(element.content);
}

/** Number of the context tag, or `undefined` for other tags. */
export function contextOf({ tag }: DerElement): number | undefined {
  return (tag & 0xc0) === CONTEXT ? tag & 0x1f : undefined;
}

function readElements(bytes: Uint8Array): readonly DerElement[] {
  const elements: DerElement[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (elements.length >= MAX_ELEMENTS) throw broken("too many elements");
    const element = readElement(bytes, at);
    elements.push(element);
    at += element.whole.length;
  }
  return elements;
}

function readElement(bytes: Uint8Array, at: number): DerElement {
  const tag = bytes[at] ?? 0;
  if ((tag & 0x1f) === 0x1f) throw broken("a tag of several bytes");
  const first = bytes[at + 1];
  if (first === undefined) throw broken("ends within a length");
  let length = first;
  let from = at + 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw broken("a length that DER does not allow");
    length = 0;
    for (const byte of bytes.subarray(from, from + count)) length = length * 256 + byte;
    from += count;
    if (length < 0x80) throw broken("a length that is not written the shortest way");
  }
  const end = from + length;
  if (end > bytes.length) throw broken("ends within an element");
  return { tag, content: bytes.subarray(from, end), whole: bytes.subarray(at, end) };
}

/** The dotted form of an object identifier. */
export function readOid(element: DerElement): string {
  const { tag, content } = element;
  // The last byte of each arc is below 0x80: without one at the end an arc is cut off.
  if (tag !== TAG.oid || (content.at(-1) ?? 0x80) >= 0x80) throw broken("no object identifier");
  const arcs: number[] = [];
  let value = 0;
  for (const byte of content) {
    if (value === 0 && byte === 0x80) throw broken("no object identifier");
    value = value * 128 + (byte & 0x7f);
    if (value > Number.MAX_SAFE_INTEGER / 128) throw broken("an object identifier too large");
    if (byte < 0x80) {
      arcs.push(value);
      value = 0;
    }
  }
  const [head = 0, ...rest] = arcs;
  const first = Math.min(Math.floor(head / 40), 2);
  return [first, head - first * 40, ...rest].join(".");
}

/** A time of a certificate. */
export function readTime(element: DerElement): WallMs {
  const text = new TextDecoder().decode(element.content);
  const match = /^(\d{2}|\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(text);
  const [, year = "", month, day, hour, minute, second] = match ?? [];
  const expected = element.tag === TAG.utcTime ? 2 : 4;
  if (!match || year.length !== expected) throw broken("no time");
  const century = expected === 4 ? "" : Number(year) < 50 ? "20" : "19";
  const at = parseTimestamp(`${century}${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (at === undefined) throw broken("no time");
  return at;
}

/** The bytes of a bit string whose bits all count. */
export function readBits(element: DerElement): Uint8Array {
  if (element.tag !== TAG.bitString || element.content[0] !== 0) throw broken("no bit string");
  return element.content.subarray(1);
}

/** The error of everything that is not the DER it should be. */
export function broken(why: string): OutsideError {
  return new OutsideError("invalid", `certificate: ${why}`);
}

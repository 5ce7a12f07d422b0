import type { Random } from "../../src/kit/random.ts";
import { MAX_INPUT, NUMBERS, pick, upTo, WORDS } from "./mutate-text.ts";

const INTERESTING = [
  0, 1, 2, 0x10, 0x1f, 0x20, 0x30, 0x7f, 0x80, 0x81, 0x84, 0xa0, 0xc0, 0xfe, 0xff,
];

type Change = (random: Random, bytes: Buffer, other: Buffer) => Buffer;

const CHANGES: readonly Change[] = [
  (random, bytes) => {
    const at = upTo(random, bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << upTo(random, 8));
    return bytes;
  },
  (random, bytes) => {
    bytes[upTo(random, bytes.length)] = pick(random, INTERESTING);
    return bytes;
  },
  (random, bytes) => {
    const at = upTo(random, bytes.length);
    bytes[at] = (bytes[at] ?? 0) + (random.next() < 0.5 ? 1 : -1);
    return bytes;
  },
  (random, bytes) => {
    const from = upTo(random, bytes.length + 1);
    const to = from + upTo(random, random.next() < 0.7 ? 5 : bytes.length);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  },
  (random, bytes) => {
    const from = upTo(random, bytes.length + 1);
    const part = bytes.subarray(from, from + upTo(random, 40));
    const times = random.next() < 0.02 ? upTo(random, 1_000) : 1;
    return Buffer.concat([
      bytes.subarray(0, from),
      ...new Array<Buffer>(times).fill(part),
      bytes.subarray(from),
    ]);
  },
  (random, bytes, other) => {
    const from = upTo(random, other.length + 1);
    const at = upTo(random, bytes.length + 1);
    const part = other.subarray(from, from + upTo(random, 60));
    return Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)]);
  },
  (random, bytes) => {
    const at = upTo(random, bytes.length + 1);
    const text = random.next() < 0.5 ? pick(random, WORDS) : pick(random, NUMBERS);
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(text), bytes.subarray(at)]);
  },
  (random, bytes) => {
    const width = pick(random, [2, 4] as const);
    const at = upTo(random, Math.max(1, bytes.length - width));
    if (at + width > bytes.length) return bytes;
    const value = Number(pick(random, NUMBERS.slice(0, 21)));
    bytes.writeUIntBE(Math.abs(value) % 2 ** (8 * width), at, width);
    return bytes;
  },
];

/** Bytes that differ in one to four places. */
export function mutateBytes(random: Random, bytes: Buffer, other: Buffer): Buffer {
  let result: Buffer = Buffer.from(bytes);
  for (let left = 1 + upTo(random, 4); left > 0; left -= 1)
    result = pick(random, CHANGES)(random, result, other);
  return result.subarray(0, MAX_INPUT);
}

/** An element that holds bytes or further elements. */
interface Element {
  /** What stands before the length; of protobuf the number and wire type. */
  tag: number;
  content: Buffer | Element[];
}

/** How a format of nested elements is read and written. */
interface Nesting {
  /** The elements that bytes consist of; undefined when they are no such thing. */
  readonly read: (bytes: Buffer) => Element[] | undefined;
  readonly write: (elements: readonly Element[]) => Buffer;
  /** A tag for a new element. */
  readonly tag: (random: Random) => number;
}

const MAX_DEPTH = 12;
const MAX_ELEMENTS = 500;

const DER: Nesting = {
  read: (bytes) => readDer(bytes, 0),
  write: (elements) =>
    Buffer.concat(
      elements.map(({ tag, content }) => {
        const body = Array.isArray(content) ? DER.write(content) : content;
        return Buffer.concat([Buffer.from([tag, ...derLength(body.length)]), body]);
      }),
    ),
  tag: (random) =>
    pick(
      random,
      [1, 2, 3, 4, 5, 6, 0x0c, 0x13, 0x17, 0x18, 0x1f, 0x30, 0x31, 0x82, 0x87, 0xa0, 0xa3],
    ),
};

function derLength(length: number): readonly number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

function readDer(bytes: Buffer, depth: number): Element[] | undefined {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [tag = 0, first] = bytes.subarray(at);
    if (first === undefined || elements.length > MAX_ELEMENTS) return undefined;
    const size = first < 0x80 ? 0 : first & 0x7f;
    if (size > 2 || at + 2 + size > bytes.length) return undefined;
    const length = size === 0 ? first : bytes.readUIntBE(at + 2, size);
    const from = at + 2 + size;
    if (from + length > bytes.length) return undefined;
    const content = bytes.subarray(from, from + length);
    const inner = (tag & 0x20) !== 0 && depth < MAX_DEPTH ? readDer(content, depth + 1) : undefined;
    elements.push({ tag, content: inner ?? content });
    at = from + length;
  }
  return elements;
}

const PROTOBUF: Nesting = {
  read: (bytes) => readProtobuf(bytes, 0),
  write: (elements) =>
    Buffer.concat(
      elements.flatMap(({ tag, content }) => {
        const body = Array.isArray(content) ? PROTOBUF.write(content) : content;
        const isLong = (tag & 7) === 2;
        return [
          Buffer.from(varint(tag)),
          ...(isLong ? [Buffer.from(varint(body.length))] : []),
          body,
        ];
      }),
    ),
  tag: (random) => (1 + upTo(random, 20)) * 8 + pick(random, [0, 1, 2, 2, 2, 3, 4, 5, 7]),
};

function varint(value: number): readonly number[] {
  const bytes: number[] = [];
  let left = value;
  for (; left > 0x7f; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80);
  return [...bytes, left];
}

function readVarint(bytes: Buffer, from: number): { value: number; end: number } | undefined {
  let value = 0;
  for (let i = 0; i < 10; i += 1) {
    const byte = bytes[from + i];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 128 ** i;
    if (byte < 0x80) return { value, end: from + i + 1 };
  }
  return undefined;
}

function readProtobuf(bytes: Buffer, depth: number): Element[] | undefined {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = readVarint(bytes, at);
    if (!tag || tag.value < 8 || tag.value > 0xffff || elements.length > MAX_ELEMENTS)
      return undefined;
    const kind = tag.value & 7;
    const number = kind === 0 || kind === 2 ? readVarint(bytes, tag.end) : undefined;
    let from = tag.end;
    let to = from;
    if (kind === 0) to = number?.end ?? Number.NaN;
    else if (kind === 1) to += 8;
    else if (kind === 5) to += 4;
    else if (kind === 2 && number) {
      from = number.end;
      to = from + number.value;
    } else return undefined;
    if (!(to <= bytes.length)) return undefined;
    const content = bytes.subarray(from, to);
    const inner =
      kind === 2 && content.length > 1 && depth < MAX_DEPTH
        ? readProtobuf(content, depth + 1)
        : undefined;
    elements.push({ tag: tag.value, content: inner ?? content });
    at = to;
  }
  return elements;
}

function allIn(elements: Element[], found: [Element[], number][] = []): [Element[], number][] {
  for (const [i, { content }] of elements.entries()) {
    found.push([elements, i]);
    if (Array.isArray(content)) allIn(content, found);
  }
  return found;
}

/** A copy that shares no list: an element must not come to lie within itself. */
function copyOf({ tag, content }: Element): Element {
  return { tag, content: Array.isArray(content) ? content.map(copyOf) : content };
}

/** Bytes whose elements differ in one to three places, their lengths put right. */
function mutateNested(random: Random, nesting: Nesting, bytes: Buffer, other: Buffer): Buffer {
  const elements = nesting.read(bytes);
  if (!elements || elements.length === 0 || random.next() < 0.2)
    return mutateBytes(random, bytes, other);
  const lent = allIn(nesting.read(other) ?? []);
  for (let left = 1 + upTo(random, 3); left > 0; left -= 1) {
    const places = allIn(elements);
    if (places.length === 0) break;
    const [list, at] = pick(random, places);
    const element = list[at] as Element;
    switch (upTo(random, 7)) {
      case 0:
        list.splice(at, 1);
        break;
      case 1:
        list.splice(at, 0, copyOf(element));
        break;
      case 2:
        element.tag = nesting.tag(random);
        break;
      case 3: {
        const [from, i] = lent.length === 0 ? [list, at] : pick(random, lent);
        list.splice(at, 0, copyOf(from[i] as Element));
        break;
      }
      case 4:
        element.content = [copyOf(element)];
        break;
      case 5:
        if (random.next() < 0.05)
          for (let depth = upTo(random, 2_000); depth > 0; depth -= 1)
            element.content = nesting.write([{ ...element }]);
        else element.content = Buffer.alloc(0);
        break;
      default: {
        const { content } = element;
        const inner = Array.isArray(content) ? nesting.write(content) : content;
        element.content = mutateBytes(random, inner, other);
      }
    }
  }
  return nesting.write(elements).subarray(0, MAX_INPUT);
}

const BLOCK_BYTES = 512;

/** A tar archive with other bytes in headers and contents; the sums of headers that had the right one stay right. */
function mutateTar(random: Random, bytes: Buffer, other: Buffer): Buffer {
  const archive = Buffer.from(bytes);
  const headers: number[] = [];
  for (let at = 0; at + BLOCK_BYTES <= archive.length; at += BLOCK_BYTES)
    if (archive.toString("latin1", at + 257, at + 262) === "ustar") headers.push(at);
  if (headers.length === 0 || random.next() < 0.1) return mutateBytes(random, archive, other);
  const at = pick(random, headers);
  const [from, width] = pick(random, [
    [0, 100],
    [124, 12],
    [124, 12],
    [124, 12],
    [156, 1],
    [157, 100],
    [345, 155],
  ] as const);
  const text = random.next() < 0.5 ? pick(random, WORDS) : tarNumber(random);
  archive.fill(0, at + from, at + from + width);
  archive.write(text.slice(0, width), at + from, "latin1");
  if (random.next() < 0.1) archive[at + 124] = pick(random, INTERESTING);
  archive.fill(0x20, at + 148, at + 156);
  let sum = 0;
  for (const byte of archive.subarray(at, at + BLOCK_BYTES)) sum += byte;
  archive.write(`${sum.toString(8).padStart(6, "0")}\0 `, at + 148, "latin1");
  const cut = random.next() < 0.2 ? upTo(random, archive.length) : archive.length;
  return archive.subarray(0, cut);
}

function tarNumber(random: Random): string {
  const value = Number(pick(random, NUMBERS));
  return random.next() < 0.5 && Number.isSafeInteger(value) ? value.toString(8) : String(value);
}

/** Bytes changed as their layout has it. */
export function mutateLaidOut(
  random: Random,
  layout: "bytes" | "der" | "protobuf" | "tar",
  bytes: Buffer,
  other: Buffer,
): Buffer {
  switch (layout) {
    case "bytes":
      return mutateBytes(random, bytes, other);
    case "der":
      return mutateNested(random, DER, bytes, other);
    case "protobuf":
      return mutateNested(random, PROTOBUF, bytes, other);
    case "tar":
      return mutateTar(random, bytes, other);
  }
}

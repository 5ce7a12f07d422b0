// pure
/**
 * Objects as the protocol buffer messages that Kubernetes publishes (`generated.proto`), without the envelope `k8s\0` of
 * the API server. What is not set is not written, which a reader takes for the zero value, as Go's writer has it.
 * Fields are written in the order of their numbers and entries of maps in the order of their keys.
 */
import { base64ToBytes } from "../../kit/base64.ts";
import { derivedOncePerText } from "../../kit/derived-once.ts";
import { isTree, jsonText, ownField, type Tree } from "../../kit/json.ts";
import { API_SCHEMA } from "../generated/schema.ts";
import { WIRE_FIELDS } from "../generated/wire.ts";
import { parseTimestampNanos } from "../text/timestamps.ts";

/** A value that its field cannot hold, such as a text in place of a number. */
export class UnwritableValue extends Error {}

/**
 * The bytes of an object of this type (`Pod`), which is one of `API_SCHEMA`. Fields that the type does not have are left
 * out. Throws `UnwritableValue`.
 */
export function writeMessage(type: string, object: object): Uint8Array {
  const sink = new Sink();
  writeFields(sink, { message: type, type }, object as Tree);
  return sink.bytes();
}

/** What messages are made of (https://protobuf.dev/programming-guides/encoding). */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;

const FIRST_SIZE = 256;

/** Bytes that grow. */
class Sink {
  #bytes = new Uint8Array(FIRST_SIZE);
  #length = 0;

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  varint(value: bigint | number): void {
    let rest = BigInt.asUintN(64, BigInt(value));
    const space = this.#space(10);
    for (; rest > 0x7fn; rest >>= 7n) space[this.#length++] = Number(rest & 0x7fn) | 0x80;
    space[this.#length++] = Number(rest);
  }

  tag(number: number, wireType: number): void {
    this.varint(number * 8 + wireType);
  }

  double(value: number): void {
    const space = this.#space(8);
    new DataView(space.buffer).setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  /** A field with a length. */
  content(number: number, bytes: Uint8Array): void {
    this.tag(number, LENGTH);
    this.varint(bytes.length);
    this.#space(bytes.length).set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #space(more: number): Uint8Array<ArrayBuffer> {
    if (this.#length + more > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + more));
      grown.set(this.bytes());
      this.#bytes = grown;
    }
    return this.#bytes;
  }
}

/** A message of the schema, and the type that its fields belong to: of an embedded message that is another one. */
interface Place {
  readonly message: string;
  readonly type: string;
}

interface NumberedField {
  readonly number: number;
  /** Begins with a star where the fields of another message stand in the object itself. */
  readonly name: string;
}

/** Fields of a message in the order of their numbers. */
const fieldsOf = derivedOncePerText((message): readonly NumberedField[] =>
  (WIRE_FIELDS[message] ?? "")
    .split(",")
    .map((entry) => {
      const [number, name = ""] = entry.split(" ");
      return { number: Number(number), name };
    })
    .filter(({ name }) => name !== "")
    .sort((a, b) => a.number - b.number),
);

function writeFields(sink: Sink, { message, type }: Place, object: Tree): void {
  const kinds = API_SCHEMA[type] ?? {};
  for (const { number, name } of fieldsOf(message)) {
    if (name.startsWith("*")) {
      const embedded = messageBytes({ message: name.slice(1), type }, object);
      if (embedded.length > 0) sink.content(number, embedded);
      continue;
    }
    const value = ownField(object, name);
    if (value === undefined || value === null) continue;
    const kind = (kinds[name] ?? "").replace(/!$/, "");
    if (kind.startsWith("[]"))
      for (const item of listOf(value)) writeField(sink, { number, kind: kind.slice(2) }, item);
    else if (kind.startsWith("{}")) writeMap(sink, { number, kind: kind.slice(2) }, treeOf(value));
    else writeField(sink, { number, kind }, value);
  }
}

function messageBytes(place: Place, object: Tree): Uint8Array {
  const sink = new Sink();
  writeFields(sink, place, object);
  return sink.bytes();
}

/** The number of a field and the kind of one value of it. */
interface Field {
  readonly number: number;
  readonly kind: string;
}

function writeMap(sink: Sink, { number, kind }: Field, map: Tree): void {
  for (const key of Object.keys(map).sort()) {
    const entry = new Sink();
    entry.content(1, utf8(key));
    const value = map[key];
    // A list as a value of a map is a message that holds it as its first field.
    if (kind.startsWith("[]")) {
      const items = new Sink();
      for (const item of listOf(value)) writeField(items, { number: 1, kind: kind.slice(2) }, item);
      entry.content(2, items.bytes());
    } else if (value !== undefined && value !== null) writeField(entry, { number: 2, kind }, value);
    sink.content(number, entry.bytes());
  }
}

function writeField(sink: Sink, { number, kind }: Field, value: unknown): void {
  switch (kind) {
    case "int32":
    case "int64":
      sink.tag(number, VARINT);
      sink.varint(integerOf(value));
      break;
    case "bool":
      sink.tag(number, VARINT);
      sink.varint(value === true ? 1 : 0);
      break;
    case "double":
      sink.tag(number, FIXED64);
      sink.double(Number(value));
      break;
    default:
      sink.content(number, contentOf(kind, value));
  }
}

function contentOf(kind: string, value: unknown): Uint8Array {
  switch (kind) {
    case "string":
      return utf8(textOf(value));
    case "bytes":
      return base64Of(textOf(value));
    case "quantity":
      return holding(utf8(typeof value === "number" ? String(value) : textOf(value)));
    case "time":
    case "microtime":
      return timeBytes(textOf(value));
    case "intOrString":
      return intOrStringBytes(value);
    case "any":
      return holding(utf8(jsonText(value)));
    default:
      return messageBytes({ message: kind, type: kind }, treeOf(value));
  }
}

/** A message whose first field is these bytes. */
function holding(bytes: Uint8Array): Uint8Array {
  const sink = new Sink();
  sink.content(1, bytes);
  return sink.bytes();
}

const NANOS = 1_000_000_000n;

function timeBytes(text: string): Uint8Array {
  const nanos = parseTimestampNanos(text);
  if (nanos === undefined) throw new UnwritableValue(`${JSON.stringify(text)} is no time`);
  const fraction = ((nanos % NANOS) + NANOS) % NANOS;
  const sink = new Sink();
  sink.tag(1, VARINT);
  sink.varint((nanos - fraction) / NANOS);
  sink.tag(2, VARINT);
  sink.varint(fraction);
  return sink.bytes();
}

function intOrStringBytes(value: unknown): Uint8Array {
  const isText = typeof value === "string";
  const sink = new Sink();
  sink.tag(1, VARINT);
  sink.varint(isText ? 1 : 0);
  sink.tag(2, VARINT);
  sink.varint(isText ? 0 : integerOf(value));
  sink.content(3, utf8(isText ? value : ""));
  return sink.bytes();
}

function integerOf(value: unknown): bigint | number {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return value as bigint | number;
  throw new UnwritableValue(`${shown(value)} is no whole number`);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  throw new UnwritableValue(`${shown(value)} is no text`);
}

function treeOf(value: unknown): Tree {
  if (isTree(value)) return value;
  throw new UnwritableValue(`${shown(value)} is no object`);
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new UnwritableValue(`${shown(value)} is no list`);
}

function base64Of(text: string): Uint8Array {
  try {
    return base64ToBytes(text);
  } catch {
    throw new UnwritableValue("bytes are not base64");
  }
}

const shown = (value: unknown): string => jsonText(value) ?? String(value);

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

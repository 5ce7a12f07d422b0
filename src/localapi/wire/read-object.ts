// pure
/**
 * Objects in the API's binary form, as kubectl since 1.32 sends some of them. Read only: what we answer is
 * JSON, which every client takes too. Source: apimachinery `runtime/serializer/protobuf`.
 */

import { API_SCHEMA } from "../../api/generated/schema.ts";
import { WIRE_FIELDS } from "../../api/generated/wire.ts";
import { rfc3339FromNanos, rfc3339Micro, wallFromNanos } from "../../api/text/timestamps.ts";
import { bytesToBase64 } from "../../kit/base64.ts";
import { derivedOncePerText } from "../../kit/derived-once.ts";
import type { Tree } from "../../kit/json.ts";
import { setOwn } from "../../kit/json.ts";
import { parseJson } from "./parse-json.ts";

/** How the form is called. */
export const PROTOBUF = "application/vnd.kubernetes.protobuf";

/** Bytes that are no object in the binary form. */
export class WireFault extends Error {}

const MAGIC = [0x6b, 0x38, 0x73, 0x00];
const MAX_DEPTH = 64;
const NANOS = 1_000_000_000n;

/** The object that bytes hold, as JSON. Throws `WireFault`, and `SyntaxError` for JSON inside it. */
export function readWireObject(
  bytes: Uint8Array,
  typeOf: (kind: string) => string | undefined,
): Tree {
  if (!MAGIC.every((byte, i) => bytes[i] === byte))
    throw new WireFault("it does not begin with k8s");
  const unknown = new Reader(bytes.subarray(MAGIC.length));
  let apiVersion = "";
  let kind = "";
  let raw: Uint8Array = new Uint8Array();
  for (const { number, bytes: content } of unknown.fields()) {
    if (number === 1)
      for (const { number: part, bytes: text } of new Reader(content).fields()) {
        if (part === 1) apiVersion = textOf(text);
        if (part === 2) kind = textOf(text);
      }
    if (number === 2) raw = content;
  }
  const type = typeOf(kind);
  if (type === undefined) throw new WireFault(`unknown kind "${kind}"`);
  const object: Record<string, unknown> = {};
  readMessage(raw, { message: type, type, depth: 0 }, object);
  return { ...object, apiVersion, kind };
}

interface Field {
  readonly number: number;
  /** Of numbers: the value. */
  readonly value: bigint;
  /** Of anything with a length: the content. */
  readonly bytes: Uint8Array;
}

const NO_BYTES = new Uint8Array();

/** Fields of a message, one after the other. */
class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  *fields(): Generator<Field, void> {
    while (this.#at < this.#bytes.length) {
      const tag = Number(this.#varint());
      const number = Math.floor(tag / 8);
      switch (tag % 8) {
        case 0:
          yield { number, value: this.#varint(), bytes: NO_BYTES };
          break;
        case 1:
          yield { number, value: 0n, bytes: this.#take(8) };
          break;
        case 2:
          yield { number, value: 0n, bytes: this.#take(Number(this.#varint())) };
          break;
        case 5:
          yield { number, value: 0n, bytes: this.#take(4) };
          break;
        default:
          throw new WireFault("unknown wire type");
      }
    }
  }

  /** The rest as numbers, as packed lists have them. */
  *varints(): Generator<bigint, void> {
    while (this.#at < this.#bytes.length) yield this.#varint();
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) break;
      this.#at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new WireFault("invalid varint");
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (!(length >= 0) || end > this.#bytes.length) throw new WireFault("unexpected end of data");
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

interface Place {
  /** Message type in the protobuf schema. */
  readonly message: string;
  /** Type in `API_SCHEMA`. */
  readonly type: string;
  readonly depth: number;
}

/** Names of fields by number, made when a message is first read. */
const numbersOf = derivedOncePerText((message): ReadonlyMap<number, string> => {
  const entries = (WIRE_FIELDS[message] ?? "").split(",").map((entry): [number, string] => {
    const [number, name = ""] = entry.split(" ");
    return [Number(number), name];
  });
  return new Map(entries);
});

function readMessage(bytes: Uint8Array, place: Place, into: Record<string, unknown>): void {
  const { message, type, depth } = place;
  if (depth > MAX_DEPTH) throw new WireFault("nested too deeply");
  const numbers = numbersOf(message);
  const kinds = API_SCHEMA[type] ?? {};
  for (const field of new Reader(bytes).fields()) {
    const name = numbers.get(field.number);
    if (name === undefined || name === "") continue;
    if (name.startsWith("*")) {
      readMessage(field.bytes, { message: name.slice(1), type, depth: depth + 1 }, into);
      continue;
    }
    const kind = (kinds[name] ?? "").replace(/!$/, "");
    if (kind.startsWith("[]")) {
      const list = (into[name] as unknown[] | undefined) ?? [];
      append(list, elements(kind.slice(2), field, depth));
      into[name] = list;
    } else if (kind.startsWith("{}")) {
      const map = (into[name] as Record<string, unknown> | undefined) ?? {};
      const [key, value] = mapEntry(kind.slice(2), field.bytes, depth);
      setOwn(map, key, value);
      into[name] = map;
    } else {
      const value = readValue(kind, field, depth);
      if (value !== "" || MEANT_EMPTY.has(name)) into[name] = value;
    }
  }
}

/** One by one: a packed list may have more elements than a call may have arguments. */
function append(list: unknown[], more: readonly unknown[]): void {
  for (const element of more) list.push(element);
}

/** Go writes texts that are not set as empty ones; these are meant when they are empty. */
const MEANT_EMPTY: ReadonlySet<string> = new Set(["storageClassName"]);

/** One element; lists of numbers may come packed into one field. */
function elements(kind: string, field: Field, depth: number): readonly unknown[] {
  const isNumber = ["int32", "int64", "bool"].includes(kind);
  if (!isNumber || field.bytes.length === 0) return [readValue(kind, field, depth)];
  return [...new Reader(field.bytes).varints()].map((value) =>
    readValue(kind, { ...field, value, bytes: NO_BYTES }, depth),
  );
}

function mapEntry(kind: string, bytes: Uint8Array, depth: number): readonly [string, unknown] {
  let key = "";
  let value: unknown;
  for (const field of new Reader(bytes).fields()) {
    if (field.number === 1) key = textOf(field.bytes);
    if (field.number === 2)
      // A list as a value of a map is a message that holds it as its first field.
      value = kind.startsWith("[]")
        ? [...new Reader(field.bytes).fields()].map((item) => readValue(kind.slice(2), item, depth))
        : readValue(kind, field, depth);
  }
  return [key, value ?? (kind === "string" || kind === "bytes" ? "" : {})];
}

function readValue(kind: string, { value, bytes }: Field, depth: number): unknown {
  switch (kind) {
    case "string":
      return textOf(bytes);
    case "bytes":
      return bytesToBase64(bytes);
    case "int32":
    case "int64":
      return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    case "bool":
      return value !== 0n;
    case "double":
      if (bytes.length !== 8) throw new WireFault(`a double of ${bytes.length} bytes`);
      return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getFloat64(0, true);
    case "quantity":
      return textOf(partOf(bytes, 1));
    case "time":
      return bytes.length === 0 ? null : rfc3339FromNanos(nanosOf(bytes));
    case "microtime":
      return bytes.length === 0 ? null : rfc3339Micro(wallFromNanos(nanosOf(bytes)));
    case "intOrString":
      return intOrString(bytes);
    case "any":
      return parseJson(textOf(partOf(bytes, 1)) || "null");
    default: {
      const object: Record<string, unknown> = {};
      readMessage(bytes, { message: kind, type: kind, depth: depth + 1 }, object);
      return object;
    }
  }
}

function partOf(bytes: Uint8Array, requested: number): Uint8Array {
  for (const { number, bytes: part } of new Reader(bytes).fields())
    if (number === requested) return part;
  return NO_BYTES;
}

function nanosOf(bytes: Uint8Array): bigint {
  let nanos = 0n;
  for (const { number, value } of new Reader(bytes).fields())
    nanos += number === 1 ? value * NANOS : number === 2 ? value : 0n;
  return nanos;
}

function intOrString(bytes: Uint8Array): number | string {
  let isText = false;
  let number = 0;
  let text = "";
  for (const field of new Reader(bytes).fields()) {
    if (field.number === 1) isText = field.value === 1n;
    if (field.number === 2) number = Number(field.value);
    if (field.number === 3) text = textOf(field.bytes);
  }
  return isText ? text : number;
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new WireFault("a string is not UTF-8");
  }
}

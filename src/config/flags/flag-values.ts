// pure

import type { JsonValue } from "../../api/generated/types.ts";
import { formatNanoseconds, parseDuration } from "../../api/text/duration.ts";
import { quoted } from "../../api/text/go-quote.ts";
import { isIP } from "../../api/text/ip.ts";
import { readQuantity } from "../../api/text/quantity.ts";
import { isTree } from "../../kit/json.ts";
import type { JsonObject } from "../tree.ts";
import type { FlagType } from "./flag-types.ts";
import { parseBool, parseInteger } from "./go-numbers.ts";
import { DEFAULT_INSPECTOR } from "./inspector-address.ts";
import { DEFAULT_PAGE } from "./page-address.ts";

/** The value of a flag in file form (durations as text), or why the text is none. */
type FlagValue =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly error: string };

const good = (value: JsonValue): FlagValue => ({ ok: true, value });
const bad = (error: string): FlagValue => ({ ok: false, error });

/**
 * Reads the text of a flag as pflag and the kubelet's own flag types do. `before` is the value of an
 * earlier occurrence of the same flag: lists and maps add to it, everything else replaces it.
 */
export function readFlagValue(
  type: FlagType,
  text: string,
  before: JsonValue | undefined,
): FlagValue {
  switch (type) {
    case "string":
      return good(text);
    case "bool":
      return parseBool(text);
    case "int32":
      return parseInteger(text, { bits: 32, unsigned: false });
    case "int64":
      return parseInteger(text, { bits: 64, unsigned: false });
    case "level":
      return parseInteger(text, { bits: 31, unsigned: true });
    case "duration":
      return readDuration(text);
    case "quantity":
      return readQuantityText(text);
    case "ip":
      if (text === "" || isIP(text)) return good(text);
      return bad(`${quoted(text)} is not a valid IP address`);
    case "strings":
      return readStrings(text, before);
    case "int32s":
      return readIntegers(text, before);
    case "vmodule":
      return readVmodule(text);
    case "reservedMemory":
      return readReservedMemory(text, before);
    case "taints":
      return readTaints(text, before);
    case "inspector":
      return good(text === "true" ? DEFAULT_INSPECTOR : text);
    case "page":
      return good(text === "true" ? DEFAULT_PAGE : text === "false" ? "" : text);
    case "version":
      return text === "raw" || /^v\d/.test(text) ? good(text) : asText(parseBool(text));
    default:
      return readPairs(type, text, before);
  }
}

function asText(value: FlagValue): FlagValue {
  return value.ok ? good(String(value.value)) : value;
}

function listBefore(before: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(before) ? before : [];
}

function mapBefore(before: JsonValue | undefined): JsonObject {
  return isTree(before) ? (before as JsonObject) : {};
}

function readDuration(text: string): FlagValue {
  const parsed = parseDuration(text);
  return parsed.ok ? good(formatNanoseconds(parsed.nanoseconds)) : bad(parsed.error);
}

function readQuantityText(text: string): FlagValue {
  const reading = readQuantity(text);
  return reading.kind === "quantity" ? good(text) : bad(reading.message);
}

function readStrings(text: string, before: JsonValue | undefined): FlagValue {
  const fields = splitCsv(text);
  return typeof fields === "string" ? bad(fields) : good([...listBefore(before), ...fields]);
}

function readIntegers(text: string, before: JsonValue | undefined): FlagValue {
  const numbers: JsonValue[] = [...listBefore(before)];
  for (const part of text === "" ? [] : text.split(",")) {
    const number = parseInteger(part, { bits: 32, unsigned: false });
    if (!number.ok) return number;
    numbers.push(number.value);
  }
  return good(numbers);
}

/** One record of comma-separated values, quotes as in RFC 4180; a string is an error message. */
function splitCsv(text: string): readonly string[] | string {
  if (text === "") return [];
  const fields: string[] = [];
  let rest = text;
  for (;;) {
    const quoted = /^"((?:[^"]|"")*)"(?=,|$)/.exec(rest);
    if (quoted !== null) {
      fields.push((quoted[1] ?? "").replaceAll('""', '"'));
      rest = rest.slice(quoted[0].length);
    } else {
      const plain = /^[^,]*/.exec(rest)?.[0] ?? "";
      if (plain.startsWith('"')) {
        return 'parse error on line 1: extraneous or missing " in quoted-field';
      }
      if (plain.includes('"')) return 'parse error on line 1: bare " in non-quoted-field';
      fields.push(plain);
      rest = rest.slice(plain.length);
    }
    if (rest === "") return fields;
    rest = rest.slice(1);
  }
}

type PairType = "map" | "mapNoSplit" | "mapBool" | "thresholds" | "headers" | "labels";

const SEPARATOR: Readonly<Record<PairType, string>> = {
  map: "=",
  mapNoSplit: "=",
  mapBool: "=",
  thresholds: "<",
  headers: ":",
  labels: "=",
};

function readPairs(type: PairType, text: string, before: JsonValue | undefined): FlagValue {
  const separator = SEPARATOR[type];
  const pairs = new Map<string, JsonValue>(Object.entries(mapBefore(before)));
  for (const pair of type === "mapNoSplit" ? [text] : text.split(",")) {
    if (pair === "") continue;
    const at = pair.indexOf(separator);
    if (at < 0 && type !== "labels") {
      const kind = type === "mapBool" ? "bool" : "string";
      return bad(`malformed pair, expect string${separator}${kind}`);
    }
    const name = (at < 0 ? pair : pair.slice(0, at)).trim();
    const value = at < 0 ? "" : pair.slice(at + 1).trim();
    const read = readPairValue(type, value, pairs.get(name));
    if (!read.ok) return bad(`invalid value of ${name}: ${value}, err: ${read.error}`);
    pairs.set(name, read.value);
  }
  return good(Object.fromEntries(pairs));
}

function readPairValue(type: PairType, text: string, before: JsonValue | undefined): FlagValue {
  if (type === "mapBool") return parseBool(text);
  if (type === "headers") return good([...listBefore(before), text]);
  return good(text);
}

function readVmodule(text: string): FlagValue {
  const entries: JsonValue[] = [];
  for (const part of text.split(",")) {
    if (part === "") continue;
    const at = part.indexOf("=");
    if (at <= 0 || part.indexOf("=", at + 1) >= 0) {
      return bad(`${quoted(part)} does not have the pattern=N format`);
    }
    const level = parseInteger(part.slice(at + 1), { bits: 31, unsigned: true });
    if (!level.ok) return bad(`parsing verbosity in ${quoted(part)}: ${level.error}`);
    entries.push({ filePattern: part.slice(0, at), verbosity: level.value });
  }
  return good(entries);
}

const RESERVED_MEMORY_FORM =
  "expected numaNodeID:type=quantity[,type=quantity...][;numaNodeID:...]";

function readReservedMemory(text: string, before: JsonValue | undefined): FlagValue {
  const entries: JsonValue[] = [...listBefore(before)];
  for (const group of text === "" ? [] : text.split(";")) {
    const match = /^(\d{1,9}):(.+)$/.exec(group);
    const wrong = `the reserved memory has incorrect format, ${RESERVED_MEMORY_FORM}, got ${group}`;
    if (match === null) return bad(wrong);
    const limits = new Map<string, JsonValue>();
    for (const pair of (match[2] ?? "").split(",")) {
      const [name = "", amount, ...more] = pair.split("=");
      if (name === "" || amount === undefined || more.length > 0) return bad(wrong);
      const reading = readQuantityText(amount);
      if (!reading.ok) {
        return bad(`failed to parse the quantity for the resource ${name}: ${reading.error}`);
      }
      limits.set(name, amount);
    }
    entries.push({ numaNode: Number(match[1]), limits: Object.fromEntries(limits) });
  }
  return good(entries);
}

function readTaints(text: string, before: JsonValue | undefined): FlagValue {
  const taints: JsonValue[] = [...listBefore(before)];
  for (const part of text === "" ? [] : text.split(",")) {
    const match = /^([^=:]+)(?:=([^:]*))?:([^:]+)$/.exec(part);
    if (match === null) return bad(`invalid taint spec: ${part}, expected key=value:effect`);
    const [, key = "", value, effect = ""] = match;
    taints.push(value === undefined ? { key, effect } : { key, value, effect });
  }
  return good(taints);
}

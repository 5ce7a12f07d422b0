// pure

import type { JsonValue } from "../../api/generated/types.ts";
import {
  durationFromNanoseconds,
  formatDuration,
  formatNanoseconds,
  parseDuration,
} from "../../api/text/duration.ts";
import { didYouMean } from "../../api/text/nearest.ts";
import { readQuantity } from "../../api/text/quantity.ts";
import { isTree } from "../../kit/json.ts";
import type { FieldType, Member } from "../fields/field-types.ts";
import {
  type ConfigProblem,
  invalidValue,
  tooManyValues,
  typeInvalid,
  unknownField,
} from "../problem.ts";
import type { JsonObject } from "../tree.ts";

/** Takes the problems that decoding finds. */
export type Report = (problem: ConfigProblem) => void;

/** Maximum length of a list or map. */
const MAX_ENTRIES = 10_000;
/** Longest text that is read. */
const MAX_TEXT = 65_536;

const INT32_MAX = 2 ** 31 - 1;
const INT64_MAX = 2n ** 63n - 1n;

/**
 * Checks one value of a file against `type` and gives it back as it would be written by us (durations in
 * Go's spelling, quantities as text). `undefined` when it is wrong, which is then reported.
 */
export function decodeValue(
  type: FieldType,
  value: unknown,
  path: string,
  report: Report,
): JsonValue | undefined {
  switch (type.kind) {
    case "boolean":
      if (typeof value === "boolean") return value;
      return wrong({ path, report }, value, "true or false");
    case "integer":
      return decodeInteger(type.bits, value, path, report);
    case "number":
      if (typeof value === "number" && Number.isFinite(value)) return value;
      return wrong({ path, report }, value, "a number");
    case "string":
      return decodeText(value, path, report);
    case "quantity":
      return decodeQuantity(value, path, report);
    case "duration":
      return decodeDuration(type.nanoseconds, value, path, report);
    case "list":
      return decodeList(type.of, value, path, report);
    case "map":
      return decodeMap(type.of, value, path, report);
    case "object":
      return decodeObject(type.members, value, path, report);
    default:
      return type satisfies never;
  }
}

/** Description of `value`, for "got ...". */
export function jsonKindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return "a string";
  if (typeof value === "bigint") return "a whole number";
  if (typeof value === "number") return Number.isInteger(value) ? "a whole number" : "a number";
  if (typeof value === "boolean") return "true or false";
  return "a mapping";
}

interface Place {
  readonly path: string;
  readonly report: Report;
}

function wrong({ path, report }: Place, value: unknown, expected: string, fix = ""): undefined {
  report(
    typeInvalid(
      path,
      value,
      `expected ${expected}, got ${jsonKindOf(value)}`,
      fix || fixFor(value),
    ),
  );
  return undefined;
}

/** A quoted number or boolean is the most common mistake. */
function fixFor(value: unknown): string {
  if (typeof value !== "string") return "";
  return /^(true|false|-?\d{1,18})$/.test(value) ? "remove the quotes" : "";
}

function decodeInteger(
  bits: 32 | 64,
  value: unknown,
  path: string,
  report: Report,
): number | undefined {
  if (typeof value === "bigint") {
    if (bits === 64 && value <= INT64_MAX && value >= -INT64_MAX - 1n) return Number(value);
  } else if (typeof value !== "number" || !Number.isInteger(value)) {
    return wrong({ path, report }, value, "a whole number");
  } else if (bits === 64 || (value <= INT32_MAX && value >= -INT32_MAX - 1)) {
    return value === 0 ? 0 : value;
  }
  report(invalidValue(path, value, `does not fit into ${bits} bits`));
  return undefined;
}

function decodeText(value: unknown, path: string, report: Report): string | undefined {
  if (typeof value !== "string") {
    const fix = isTree(value) || Array.isArray(value) ? "" : "write it in quotes";
    return wrong({ path, report }, value, "a string", value === null ? "" : fix);
  }
  if (value.length > MAX_TEXT) {
    report(invalidValue(path, value, `may not be longer than ${MAX_TEXT} characters`));
    return undefined;
  }
  return value;
}

function decodeQuantity(value: unknown, path: string, report: Report): string | undefined {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "bigint") {
    return wrong({ path, report }, value, "a quantity such as 10Mi");
  }
  const reading = readQuantity(value);
  if (reading.kind === "fault") {
    report(invalidValue(path, value, reading.message));
    return undefined;
  }
  return String(value);
}

function decodeDuration(
  nanoseconds: boolean,
  value: unknown,
  path: string,
  report: Report,
): string | undefined {
  const whole =
    typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value))
      ? value
      : undefined;
  if (nanoseconds && whole !== undefined) return formatDuration(durationFromNanoseconds(whole));
  if (typeof value !== "string") {
    const fix = whole === undefined ? "" : `write it with a unit, e.g. "${whole}s"`;
    return wrong({ path, report }, value, "a duration such as 1m30s", fix);
  }
  const parsed = parseDuration(value);
  if (parsed.ok) return formatNanoseconds(parsed.nanoseconds);
  report(
    invalidValue(path, value, parsed.error, "write numbers with units, e.g. 1h30m, 20s, 100ms"),
  );
  return undefined;
}

function decodeList(
  of: FieldType,
  value: unknown,
  path: string,
  report: Report,
): readonly JsonValue[] | undefined {
  if (!Array.isArray(value)) return wrong({ path, report }, value, "a list");
  if (value.length > MAX_ENTRIES) return refuseMany(path, value.length, report);
  const decoded = value.map((entry: unknown, i) => decodeValue(of, entry, `${path}[${i}]`, report));
  return decoded.filter((entry) => entry !== undefined);
}

function decodeMap(
  of: FieldType,
  value: unknown,
  path: string,
  report: Report,
): { readonly [name: string]: JsonValue } | undefined {
  if (!isTree(value)) return wrong({ path, report }, value, "a mapping");
  const entries = Object.entries(value);
  if (entries.length > MAX_ENTRIES) return refuseMany(path, entries.length, report);
  const decoded: [string, JsonValue][] = [];
  for (const [name, entry] of entries) {
    const good = decodeValue(of, entry, `${path}[${name}]`, report);
    if (good !== undefined) decoded.push([name, good]);
  }
  return Object.fromEntries(decoded);
}

function decodeObject(
  members: { readonly [name: string]: Member },
  value: unknown,
  path: string,
  report: Report,
): { readonly [name: string]: JsonValue } | undefined {
  if (!isTree(value)) return wrong({ path, report }, value, "a mapping");
  const decoded: [string, JsonValue][] = [];
  let isWrong = false;
  for (const [name, entry] of Object.entries(value)) {
    const member = Object.hasOwn(members, name) ? members[name] : undefined;
    if (member === undefined) {
      report(unknownField(`${path}.${name}`, didYouMean(name, Object.keys(members))));
    } else if (entry !== null) {
      const good = decodeValue(member.type, entry, `${path}.${name}`, report);
      if (good === undefined) isWrong = true;
      else decoded.push([name, good]);
    }
  }
  // What is wrong is left out as a whole: one fault is reported once.
  if (isWrong) return undefined;
  return { ...zeroMembers(members), ...Object.fromEntries(decoded) };
}

/** The members that have a value without being written. */
function zeroMembers(members: { readonly [name: string]: Member }): JsonObject {
  const zeros = Object.entries(members).map(([name, { zero }]) => [name, zero] as const);
  return Object.fromEntries(zeros.filter(([, zero]) => zero !== undefined)) as JsonObject;
}

function refuseMany(path: string, count: number, report: Report): undefined {
  report(tooManyValues(path, count, MAX_ENTRIES));
  return undefined;
}

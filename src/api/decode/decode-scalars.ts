// pure
import { setOwn } from "../../kit/json.ts";
import type { JsonValue } from "../generated/types.ts";
import { formatQuantity, readQuantity } from "../text/quantity.ts";
import { parseTimestampNanos, rfc3339, rfc3339Micro, wallFromNanos } from "../text/timestamps.ts";

/** The scalar kinds of `API_SCHEMA`. */
export type ScalarKind =
  | "string"
  | "int32"
  | "int64"
  | "double"
  | "bool"
  | "bytes"
  | "quantity"
  | "time"
  | "microtime"
  | "intOrString"
  | "any";

/** A decoded scalar. */
type ScalarValue = string | number | boolean | JsonValue;

/** A value that fits, or why it does not. `shown` says whether the value belongs into the message. */
type ScalarReading =
  | { readonly ok: true; readonly value: ScalarValue }
  | { readonly ok: false; readonly message: string; readonly typeWrong: boolean };

const fits = (value: ScalarValue): ScalarReading => ({ ok: true, value });
const wrongType = (expected: string, json: unknown, fix = ""): ScalarReading => ({
  ok: false,
  message: `expected ${expected}, got ${typeName(json)}${fix}`,
  typeWrong: true,
});
const wrongValue = (message: string): ScalarReading => ({ ok: false, message, typeWrong: false });

/** Name of a JSON value's type for messages. */
export function typeName(json: unknown): string {
  if (json === null || json === undefined) return "nothing";
  if (Array.isArray(json)) return "a list";
  switch (typeof json) {
    case "string":
      return "a string";
    case "number":
    case "bigint":
      return "a number";
    case "boolean":
      return "a boolean";
    default:
      return "an object";
  }
}

const MAX_INT32 = 2 ** 31 - 1;
const INT64_LIMIT = 2n ** 63n;
/** To hold another number in its place would change what the user wrote without a word. */
const INEXACT_INTEGER = `must be from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}: whole numbers beyond 2^53 are not kept exactly`;

function readString(json: unknown): ScalarReading {
  if (typeof json === "string") return fits(json);
  const quotable = ["number", "bigint", "boolean"].includes(typeof json);
  return wrongType("a string", json, quotable ? " (put it in quotes)" : "");
}

function readInt32(json: unknown): ScalarReading {
  if (typeof json === "bigint") return wrongValue("must fit 32 bits");
  if (typeof json !== "number") return wrongType("a whole number", json);
  if (!Number.isInteger(json)) return wrongValue("must be an integer");
  return Math.abs(json) <= MAX_INT32 || json === -MAX_INT32 - 1
    ? fits(json + 0)
    : wrongValue("must fit 32 bits");
}

function readInt64(json: unknown): ScalarReading {
  if (typeof json !== "number" && typeof json !== "bigint")
    return wrongType("a whole number", json);
  if (typeof json === "number" && !Number.isInteger(json)) return wrongValue("must be an integer");
  const plain = Number(json);
  if (Number.isSafeInteger(plain)) return fits(plain + 0);
  const exact = BigInt(json);
  return wrongValue(
    exact >= INT64_LIMIT || exact < -INT64_LIMIT ? "must fit 64 bits" : INEXACT_INTEGER,
  );
}

function readBytes(json: unknown): ScalarReading {
  if (typeof json !== "string") return wrongType("base64 text", json);
  const compact = json.replace(/[\r\n]/g, "");
  return /^[A-Za-z0-9+/]*={0,2}$/.test(compact) && compact.length % 4 === 0
    ? fits(compact)
    : wrongValue("must be base64 with padding");
}

function readQuantityText(json: unknown): ScalarReading {
  if (typeof json !== "string" && typeof json !== "number" && typeof json !== "bigint")
    return wrongType("a quantity such as 100m or 1Gi", json);
  const reading = readQuantity(typeof json === "string" ? json.trim() : json);
  return reading.kind === "quantity"
    ? fits(formatQuantity(reading.quantity))
    : wrongValue(reading.message);
}

function readTime(json: unknown, micro: boolean): ScalarReading {
  if (typeof json !== "string") return wrongType("a time such as 2026-01-02T03:04:05Z", json);
  const nanos = parseTimestampNanos(json);
  if (nanos === undefined) return wrongValue("must be a time such as 2026-01-02T03:04:05Z");
  if (!micro) return fits(rfc3339(wallFromNanos(nanos)));
  // Whole milliseconds are rewritten, finer times are kept as they came.
  const wall = wallFromNanos(nanos);
  return fits(nanos % 1_000_000n === 0n ? rfc3339Micro(wall) : json);
}

function readIntOrString(json: unknown): ScalarReading {
  if (typeof json === "string") return fits(json);
  return typeof json === "number" || typeof json === "bigint"
    ? readInt32(json)
    : wrongType("a whole number or a string", json);
}

/** Free-form JSON nests this deep at most. */
const MAX_FREE_DEPTH = 64;

/** A copy of free-form JSON. Throws `Unreadable` with the reason when it cannot be held as it is. */
function copyOfAny(json: unknown, depth = 0): JsonValue {
  if (depth > MAX_FREE_DEPTH) throw new Unreadable("nests too deep");
  if (json === null || typeof json === "boolean" || typeof json === "string") return json;
  if (typeof json === "number") return json;
  if (typeof json === "bigint") throw new Unreadable(INEXACT_INTEGER);
  if (typeof json !== "object") throw new Unreadable("is not JSON");
  if (Array.isArray(json)) {
    return json.map((item: unknown) => copyOfAny(item, depth + 1));
  }
  const copy: Record<string, JsonValue> = {};
  for (const [key, part] of Object.entries(json)) {
    setOwn(copy, key, copyOfAny(part, depth + 1));
  }
  return copy;
}

class Unreadable extends Error {}

function readAny(json: unknown): ScalarReading {
  try {
    return fits(copyOfAny(json));
  } catch (error) {
    if (error instanceof Unreadable) return wrongValue(error.message);
    throw error;
  }
}

/** Checks one scalar and brings it into the spelling the API would give it. */
export function readScalar(kind: ScalarKind, json: unknown): ScalarReading {
  switch (kind) {
    case "string":
      return readString(json);
    case "int32":
      return readInt32(json);
    case "int64":
      return readInt64(json);
    case "double":
      return typeof json === "number" || typeof json === "bigint"
        ? fits(Number(json))
        : wrongType("a number", json);
    case "bool":
      return typeof json === "boolean" ? fits(json) : wrongType("true or false", json);
    case "bytes":
      return readBytes(json);
    case "quantity":
      return readQuantityText(json);
    case "time":
      return readTime(json, false);
    case "microtime":
      return readTime(json, true);
    case "intOrString":
      return readIntOrString(json);
    case "any":
      return readAny(json);
  }
}

/** Go's zero value of the kind. */
export function zeroScalar(kind: ScalarKind): ScalarValue {
  switch (kind) {
    case "int32":
    case "int64":
    case "double":
    case "intOrString":
      return 0;
    case "bool":
      return false;
    case "quantity":
      return "0";
    case "any":
      return null;
    default:
      return "";
  }
}

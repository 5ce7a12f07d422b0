// pure
import { quoted } from "../../api/text/go-quote.ts";

/** A number or boolean as Go's strconv reads it, or its error text. */
type GoValue<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: string };

const TRUE = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE = ["0", "f", "F", "FALSE", "false", "False"];
/** No number that fits 64 bits is longer, underscores included. */
const MAX_TEXT = 160;

/** Source: https://pkg.go.dev/strconv#ParseBool. */
export function parseBool(text: string): GoValue<boolean> {
  if (TRUE.includes(text)) return { ok: true, value: true };
  if (FALSE.includes(text)) return { ok: true, value: false };
  return {
    ok: false,
    error: `strconv.ParseBool: parsing ${quoted(text.slice(0, MAX_TEXT))}: invalid syntax`,
  };
}

/** Accepted integers: signed ones take prefixes such as `0x`, unsigned ones decimal digits only. */
interface IntegerForm {
  readonly bits: 31 | 32 | 64;
  readonly unsigned: boolean;
}

/**
 * Source: https://pkg.go.dev/strconv#ParseInt with base 0 (`0x1f`, `0o17`, `017`, `0b1`, `1_000`), or
 * ParseUint with base 10 when `unsigned`. Beyond 2^53 the nearest number.
 */
export function parseInteger(text: string, form: IntegerForm): GoValue<number> {
  const name = form.unsigned ? "ParseUint" : "ParseInt";
  const fail = (why: string): GoValue<number> => ({
    ok: false,
    error: `strconv.${name}: parsing ${quoted(text.slice(0, MAX_TEXT))}: ${why}`,
  });
  if (text.length > MAX_TEXT) return fail("value out of range");
  const negative = !form.unsigned && text.startsWith("-");
  const signed = !form.unsigned && /^[-+]/.test(text);
  const magnitude = form.unsigned ? decimal(text) : anyBase(signed ? text.slice(1) : text);
  if (magnitude === undefined) return fail("invalid syntax");
  const value = negative ? -magnitude : magnitude;
  const limit = 1n << BigInt(form.unsigned ? form.bits : form.bits - 1);
  if (value >= limit || value < -limit) return fail("value out of range");
  return { ok: true, value: Number(value) };
}

const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Decimal numbers that `ParseFloat` of 32 bits reads, not rounded to these. Source: https://pkg.go.dev/strconv#ParseFloat. */
export function parseFloat32(text: string): GoValue<number> {
  const fail = (why: string): GoValue<number> => ({
    ok: false,
    error: `strconv.ParseFloat: parsing ${quoted(text.slice(0, MAX_TEXT))}: ${why}`,
  });
  if (text.length > MAX_TEXT || !FLOAT.test(text)) return fail("invalid syntax");
  const value = Number(text);
  return Number.isFinite(Math.fround(value)) ? { ok: true, value } : fail("value out of range");
}

/** Whole numbers as `Atoi` reads them: decimal digits with a sign. Source: https://pkg.go.dev/strconv#Atoi. */
export function parseDecimal(text: string): GoValue<number> {
  const fail = (why: string): GoValue<number> => ({
    ok: false,
    error: `strconv.Atoi: parsing ${quoted(text.slice(0, MAX_TEXT))}: ${why}`,
  });
  if (!/^[+-]?\d+$/.test(text)) return fail("invalid syntax");
  const value = text.length > MAX_TEXT ? Number.POSITIVE_INFINITY : Number(text);
  return Math.abs(value) < 2 ** 63 ? { ok: true, value } : fail("value out of range");
}

function decimal(text: string): bigint | undefined {
  return /^\d+$/.test(text) ? BigInt(text) : undefined;
}

function anyBase(text: string): bigint | undefined {
  const match = /^(0[xX]|0[oO]|0[bB]|0(?=[0-7_]))?(_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)$/.exec(text);
  if (match === null) return undefined;
  const prefix = (match[1] ?? "").toLowerCase();
  const digits = match[2] ?? "";
  if (prefix === "" && digits.startsWith("_")) return undefined;
  const plain = digits.replaceAll("_", "");
  const allowed =
    prefix === "0x"
      ? /^[0-9a-fA-F]+$/
      : prefix === "0b"
        ? /^[01]+$/
        : prefix === ""
          ? /^\d+$/
          : /^[0-7]+$/;
  if (!allowed.test(plain)) return undefined;
  if (prefix === "" && /^0\d/.test(plain)) return undefined;
  const javascript = prefix === "" ? "" : prefix === "0" ? "0o" : prefix;
  return BigInt(`${javascript}${plain}`);
}

// pure
import { UsageError } from "../../kit/errors.ts";

/** Which family of suffixes a quantity is written with. */
type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent";

/**
 * An exact Kubernetes quantity: `mantissa * 10^exponent`, never a floating point number.
 * Source: apimachinery `resource.Quantity`.
 */
export interface Quantity {
  readonly mantissa: bigint;
  readonly exponent: number;
  readonly format: QuantityFormat;
  /** The text it was parsed from, kept only where Kubernetes would write that text back unchanged. */
  readonly spelling?: string;
}

/** Result of `readQuantity`. */
type QuantityReading =
  | { readonly kind: "quantity"; readonly quantity: Quantity }
  | { readonly kind: "fault"; readonly message: string };

const FORMAT_FAULT =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NUMERIC_FAULT = "unable to parse numeric part of quantity";
const SUFFIX_FAULT = "unable to parse quantity's suffix";

/** Longest text that is parsed; real quantities have at most some 30 characters. */
const MAX_TEXT_LENGTH = 1024;
/** Largest decimal exponent; larger ones would only serve to exhaust memory. */
const MAX_EXPONENT = 1000;
const NANO = -9;
const MAX_DECIMAL_DIGITS = 18;
const MAX_INT64 = 9223372036854775807n;

/** Longest run of digits that surely fits a safe integer. */
const SAFE_DIGITS = 15;

const DECIMAL_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const SUFFIX_OF_EXPONENT: ReadonlyMap<number, string> = new Map(
  [...DECIMAL_SUFFIXES].map(([suffix, exponent]) => [exponent, suffix]),
);
const LARGEST_SUFFIX_EXPONENT = 18;
const BINARY_SUFFIXES = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;

const fault = (message: string): QuantityReading => ({ kind: "fault", message });

interface Scanned {
  readonly negative: boolean;
  /** Digits before the point without leading zeros, `"0"` when none are left. */
  readonly whole: string;
  readonly fraction: string;
  readonly suffix: string;
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

function skipDigits(text: string, from: number): number {
  let at = from;
  while (at < text.length && isDigit(text.charCodeAt(at))) at++;
  return at;
}

/** Splits number from suffix in one pass; `undefined` when trailing characters belong to neither. */
function scan(text: string): Scanned | undefined {
  const first = text.charCodeAt(0);
  const negative = first === 45;
  const numberStart = negative || first === 43 ? 1 : 0;
  let at = numberStart;
  while (at < text.length && text.charCodeAt(at) === 48) at++;
  if (at === text.length && at > numberStart)
    return { negative, whole: "0", fraction: "", suffix: "" };
  const wholeStart = at;
  at = skipDigits(text, at);
  // The Go kubelet takes a lone sign or suffix for zero, against its own expression; we do not.
  if (at === numberStart && text.charCodeAt(at) !== 46) return undefined;
  const whole = at === wholeStart ? "0" : text.slice(wholeStart, at);
  let fraction = "";
  if (text.charCodeAt(at) === 46) {
    const end = skipDigits(text, at + 1);
    fraction = text.slice(at + 1, end);
    at = end;
  }
  const suffixStart = at;
  while (at < text.length && "eEinumkKMGTP".includes(text.charAt(at))) at++;
  if (text.charCodeAt(at) === 45 || text.charCodeAt(at) === 43) at++;
  at = skipDigits(text, at);
  if (at < text.length) return undefined;
  return { negative, whole, fraction, suffix: text.slice(suffixStart) };
}

interface Suffix {
  readonly format: QuantityFormat;
  /** Power of ten, or of two for `BinarySI`. */
  readonly power: number;
}

const EXPONENT_SUFFIX = /^[eE]([-+]?[0-9]{1,18})$/;

function readSuffix(suffix: string): Suffix | undefined {
  const decimal = DECIMAL_SUFFIXES.get(suffix);
  if (decimal !== undefined) return { format: "DecimalSI", power: decimal };
  const binary = (BINARY_SUFFIXES as readonly string[]).indexOf(suffix);
  if (binary >= 0) return { format: "BinarySI", power: (binary + 1) * 10 };
  const exponent = EXPONENT_SUFFIX.exec(suffix);
  if (exponent === null) return undefined;
  const power = Number(exponent[1]);
  return power > MAX_EXPONENT ? undefined : { format: "DecimalExponent", power };
}

/** Kubernetes reuses the text when it is (or seems) canonical already; this is its very test. */
function keepsSpelling(scanned: Scanned, suffix: Suffix): boolean {
  const digits = scanned.whole + scanned.fraction;
  if (suffix.format === "BinarySI") {
    const digitsLeft = 15 - scanned.whole.length - Math.trunc((suffix.power * 3) / 10) - 1;
    return scanned.fraction === "" && digitsLeft >= 0 && (Number(digits) & 7) !== 0;
  }
  const exponent = suffix.power - scanned.fraction.length;
  return (
    digits.length <= MAX_DECIMAL_DIGITS &&
    exponent >= NANO &&
    exponent % 3 === 0 &&
    !digits.endsWith("000") &&
    digits.charCodeAt(0) !== 48
  );
}

/** Rounds `mantissa * 10^exponent` (positive) up to whole nanos. */
function roundUpToNano(mantissa: bigint, exponent: number): { mantissa: bigint; exponent: number } {
  if (exponent >= NANO || mantissa === 0n) return { mantissa, exponent: Math.max(exponent, NANO) };
  if (NANO - exponent > 2 * MAX_TEXT_LENGTH) return { mantissa: 1n, exponent: NANO };
  return { mantissa: divideUp(mantissa, 10n ** BigInt(NANO - exponent)), exponent: NANO };
}

/** Division of a non-negative number, rounded up. */
const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;

/**
 * Reads a quantity as the API does: text with an optional suffix, or a JSON number. Values finer than a
 * nano are rounded up, binary ones are capped at 2^63-1. Texts beyond 1024 characters and exponents
 * beyond 1000 are faults.
 */
export function readQuantity(input: string | number | bigint): QuantityReading {
  const text = typeof input === "string" ? input : String(input);
  if (text === "") return fault(FORMAT_FAULT);
  if (text.length > MAX_TEXT_LENGTH) return fault(NUMERIC_FAULT);
  const scanned = scan(text);
  if (scanned === undefined) return fault(FORMAT_FAULT);
  const suffix = readSuffix(scanned.suffix);
  if (suffix === undefined) return fault(SUFFIX_FAULT);
  let mantissa = BigInt(scanned.whole + scanned.fraction);
  let exponent = -scanned.fraction.length;
  let format = suffix.format;
  if (format === "BinarySI") mantissa <<= BigInt(suffix.power);
  else exponent += suffix.power;
  ({ mantissa, exponent } = roundUpToNano(mantissa, exponent));
  if (format === "BinarySI" && mantissa > 0n) {
    if (mantissa > MAX_INT64 * 10n ** BigInt(-exponent)) {
      mantissa = MAX_INT64;
      exponent = 0;
    }
    if (mantissa < 10n ** BigInt(-exponent)) format = "DecimalSI";
  }
  if (scanned.negative) mantissa = -mantissa;
  const quantity = { mantissa, exponent, format };
  const kept = text === "0" || keepsSpelling(scanned, suffix);
  return { kind: "quantity", quantity: kept ? { ...quantity, spelling: text } : quantity };
}

/** As `readQuantity`, for texts that must be right. Throws `UsageError` with Kubernetes' own words. */
export function parseQuantity(input: string | number | bigint): Quantity {
  const reading = readQuantity(input);
  if (reading.kind === "fault")
    throw new UsageError(`${JSON.stringify(String(input).slice(0, 64))}: ${reading.message}`);
  return reading.quantity;
}

/** `q * 10^places` as a whole number, rounded away from zero. */
function scaled(q: Quantity, places: number): bigint {
  const shift = q.exponent + places;
  if (shift >= 0) return q.mantissa * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return q.mantissa < 0n ? -divideUp(-q.mantissa, divisor) : divideUp(q.mantissa, divisor);
}

/** Whole units, rounded away from zero. Exact where Go's int64 would wrap around. */
export const quantityValue = (q: Quantity): bigint => scaled(q, 0);

/** Thousandths, rounded away from zero. Exact where Go's int64 would wrap around. */
export const quantityMilliValue = (q: Quantity): bigint => scaled(q, 3);

/** Millionths, rounded away from zero. */
export const quantityMicroValue = (q: Quantity): bigint => scaled(q, 6);

/** `q` rounded away from zero to a multiple of `10^exponent`; itself where it is one already. */
export function roundUpQuantity(q: Quantity, exponent: number): Quantity {
  if (q.exponent >= exponent) return q;
  return { mantissa: scaled(q, -exponent), exponent, format: q.format };
}

/** Whether `q` is nothing. */
export const isZeroQuantity = (q: Quantity): boolean => q.mantissa === 0n;

/** Negative, zero or positive, as `a` is less than, equal to or greater than `b`. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  const exponent = Math.min(a.exponent, b.exponent);
  const left = a.mantissa * 10n ** BigInt(a.exponent - exponent);
  const right = b.mantissa * 10n ** BigInt(b.exponent - exponent);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The sum, in `a`'s format, or in `b`'s when `a` is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  const exponent = Math.min(a.exponent, b.exponent);
  return {
    mantissa:
      a.mantissa * 10n ** BigInt(a.exponent - exponent) +
      b.mantissa * 10n ** BigInt(b.exponent - exponent),
    exponent,
    format: isZeroQuantity(a) ? b.format : a.format,
  };
}

/** The difference, in `a`'s format, or in `b`'s when `a` is zero. */
export function subQuantities(a: Quantity, b: Quantity): Quantity {
  return addQuantities(a, { mantissa: -b.mantissa, exponent: b.exponent, format: b.format });
}

/** A quantity of `milli` thousandths, e.g. CPU. */
export function quantityFromMilli(milli: number | bigint): Quantity {
  return { mantissa: BigInt(milli), exponent: -3, format: "DecimalSI" };
}

/** A quantity of `bytes`, written with binary suffixes. */
export function quantityFromBytes(bytes: number | bigint): Quantity {
  return { mantissa: BigInt(bytes), exponent: 0, format: "BinarySI" };
}

/** A plain count, e.g. of pods or devices. */
export function quantityFromCount(count: number | bigint): Quantity {
  return { mantissa: BigInt(count), exponent: 0, format: "DecimalSI" };
}

function formatDecimal(q: Quantity, format: QuantityFormat): string {
  let { mantissa, exponent } = q;
  while (mantissa % 10n === 0n) {
    mantissa /= 10n;
    exponent++;
  }
  // Beyond the largest suffix the zeros are written out; Go would lose them.
  const last = format === "DecimalSI" ? LARGEST_SUFFIX_EXPONENT : exponent;
  const target = Math.min(exponent - (((exponent % 3) + 3) % 3), last);
  const digits = `${mantissa}${"0".repeat(exponent - target)}`;
  if (format === "DecimalSI") return digits + (SUFFIX_OF_EXPONENT.get(target) ?? "");
  return target === 0 ? digits : `${digits}e${target}`;
}

function formatBinary(whole: bigint): string {
  let mantissa = whole;
  let step = 0;
  while (step < BINARY_SUFFIXES.length && mantissa % 1024n === 0n) {
    mantissa /= 1024n;
    step++;
  }
  return `${mantissa}${step === 0 ? "" : (BINARY_SUFFIXES[step - 1] ?? "")}`;
}

/** The canonical text: no fraction, the largest suffix that loses nothing. */
export function canonicalQuantity(q: Quantity): string {
  if (isZeroQuantity(q)) return "0";
  if (q.format !== "BinarySI") return formatDecimal(q, q.format);
  const whole = scaled(q, 0);
  const exact = compareQuantities(q, { mantissa: whole, exponent: 0, format: "BinarySI" }) === 0;
  if (!exact || (whole > -1024n && whole < 1024n)) return formatDecimal(q, "DecimalSI");
  return formatBinary(whole);
}

/** Kubernetes' spelling of `q`: the original text where it is kept, else the canonical one. */
export const formatQuantity = (q: Quantity): string => q.spelling ?? canonicalQuantity(q);

const clampToSafe = (n: bigint): number =>
  n > BigInt(Number.MAX_SAFE_INTEGER)
    ? Number.MAX_SAFE_INTEGER
    : n < BigInt(Number.MIN_SAFE_INTEGER)
      ? Number.MIN_SAFE_INTEGER
      : Number(n);

/** `text` when it is a plain run of digits with `suffix` behind, as a safe number. */
function plainDigits(text: string, suffix: string): number | undefined {
  const end = text.length - suffix.length;
  if (end < 1 || end > SAFE_DIGITS || !text.endsWith(suffix)) return undefined;
  return skipDigits(text, 0) === end ? Number(text.slice(0, end)) : undefined;
}

/**
 * Thousandths of a quantity's text as a safe integer (clamped), e.g. milli-CPU. Cheap for the usual
 * spellings. Throws `UsageError` when the text is not a quantity.
 */
export function milliOf(text: string): number {
  const milli = plainDigits(text, "m");
  if (milli !== undefined) return milli;
  const units = text.length < 12 ? plainDigits(text, "") : undefined;
  return units !== undefined ? units * 1000 : clampToSafe(quantityMilliValue(parseQuantity(text)));
}

const CHEAP_SUFFIXES: readonly (readonly [string, number])[] = [
  ["Mi", 2 ** 20],
  ["Gi", 2 ** 30],
  ["Ki", 2 ** 10],
];

/**
 * Whole units of a quantity's text as a safe integer (clamped), rounded up, e.g. bytes. Cheap for the
 * usual spellings. Throws `UsageError` when the text is not a quantity.
 */
export function wholeOf(text: string): number {
  const plain = plainDigits(text, "");
  if (plain !== undefined) return plain;
  if (text.length < 8)
    for (const [suffix, factor] of CHEAP_SUFFIXES) {
      const digits = plainDigits(text, suffix);
      if (digits !== undefined) return digits * factor;
    }
  return clampToSafe(quantityValue(parseQuantity(text)));
}

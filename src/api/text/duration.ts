// pure

import type { Branded } from "../../kit/brand.ts";
import { quoted } from "./go-quote.ts";

/**
 * A length of time in milliseconds, made by `parseDuration`. Fractions are kept: `1500us` is 1.5. Exact to
 * the nanosecond up to 26 days; beyond that the nearest number (a Go duration ends at about 292 years).
 */
export type DurationMs = Branded<number, "DurationMs">;

/** The result of `parseDuration`: exact nanoseconds and the milliseconds, or why it is none. */
type ParsedDuration =
  | { readonly ok: true; readonly nanoseconds: bigint; readonly ms: DurationMs }
  | { readonly ok: false; readonly error: string };

const UNIT_NANOSECONDS: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["\u00b5s", 1_000n],
  ["\u03bcs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);

/** One past the largest magnitude; a negative duration may reach it, a positive one may not. */
const LIMIT = 1n << 63n;

/** No duration that means anything is longer; keeps hostile texts cheap and error messages short. */
const MAX_TEXT = 128;

/**
 * Parses what Go's `time.ParseDuration` parses (`1h30m`, `-1.5s`, `100ms`, `0`), with its error texts.
 * Source: https://pkg.go.dev/time#ParseDuration.
 */
export function parseDuration(text: string): ParsedDuration {
  if (text.length > MAX_TEXT) {
    return failed(`invalid duration: ${text.length} characters are too many`);
  }
  const invalid = failed(`time: invalid duration ${quoted(text)}`);
  const negative = text.startsWith("-");
  let rest = negative || text.startsWith("+") ? text.slice(1) : text;
  if (rest === "0") return succeeded(0n);
  if (rest === "") return invalid;
  let total = 0n;
  while (rest !== "") {
    const term = takeTerm(rest, text);
    if (!term.ok) return failed(term.error);
    rest = term.rest;
    total += term.nanoseconds;
    if (total > LIMIT) return invalid;
  }
  if (!negative && total === LIMIT) return invalid;
  return succeeded(negative ? -total : total);
}

type Term =
  | { readonly ok: true; readonly nanoseconds: bigint; readonly rest: string }
  | { readonly ok: false; readonly error: string };

/** The first number with its unit, e.g. `1.5h` of `1.5h30m`. `text` is the whole, for messages. */
function takeTerm(input: string, text: string): Term {
  const number = /^([0-9]*)(?:\.([0-9]*))?/.exec(input);
  const whole = number?.[1] ?? "";
  const fraction = number?.[2] ?? "";
  if (whole === "" && fraction === "") {
    return { ok: false, error: `time: invalid duration ${quoted(text)}` };
  }
  const behind = input.slice(number?.[0].length ?? 0);
  const unitName = /^[^.0-9]*/.exec(behind)?.[0] ?? "";
  if (unitName === "") {
    return { ok: false, error: `time: missing unit in duration ${quoted(text)}` };
  }
  const unit = UNIT_NANOSECONDS.get(unitName);
  if (unit === undefined) {
    const error = `time: unknown unit ${quoted(unitName)} in duration ${quoted(text)}`;
    return { ok: false, error };
  }
  const nanoseconds = BigInt(whole === "" ? "0" : whole) * unit + fractionOf(fraction, unit);
  return { ok: true, nanoseconds, rest: behind.slice(unitName.length) };
}

/** The part behind the point, in nanoseconds, cut off as Go cuts it (through a 64 bit float). */
function fractionOf(digits: string, unit: bigint): bigint {
  let value = 0n;
  let scale = 1;
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit);
    if (next >= LIMIT) break;
    value = next;
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(value) * (Number(unit) / scale)));
}

function succeeded(nanoseconds: bigint): ParsedDuration {
  return { ok: true, nanoseconds, ms: millisecondsOf(nanoseconds) };
}

function failed(error: string): ParsedDuration {
  return { ok: false, error };
}

function millisecondsOf(nanoseconds: bigint): DurationMs {
  const whole = nanoseconds / 1_000_000n;
  const rest = nanoseconds % 1_000_000n;
  return (rest === 0n ? Number(whole) : Number(nanoseconds) / 1e6) as DurationMs;
}

/** Milliseconds from a number of nanoseconds, as `logging.flushFrequency` may be written. */
export function durationFromNanoseconds(nanoseconds: bigint | number): DurationMs {
  return millisecondsOf(BigInt(nanoseconds));
}

/** A duration known to the program, e.g. a constant of a test. */
export function durationMs(ms: number): DurationMs {
  return ms as DurationMs;
}

/** The duration as Go prints it: `1m0s`, `1.5s`, `100ms`, `0s`. Rounded to the nanosecond. */
export function formatDuration(ms: number): string {
  return formatNanoseconds(BigInt(Math.round(ms * 1e6)));
}

/** Nanoseconds as Go prints a duration. */
export function formatNanoseconds(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return "0s";
  const sign = nanoseconds < 0n ? "-" : "";
  const total = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (total < 1_000n) return `${sign}${total}ns`;
  if (total < 1_000_000n) return `${sign}${withFraction(total, 1_000n)}\u00b5s`;
  if (total < 1_000_000_000n) return `${sign}${withFraction(total, 1_000_000n)}ms`;
  const minutes = total / 60_000_000_000n;
  const seconds = `${withFraction(total % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return `${sign}${seconds}`;
  const hours = minutes / 60n;
  if (hours === 0n) return `${sign}${minutes}m${seconds}`;
  return `${sign}${hours}h${minutes % 60n}m${seconds}`;
}

/** `value / unit` in decimal, without trailing zeros. `unit` is a power of ten. */
function withFraction(value: bigint, unit: bigint): string {
  const whole = value / unit;
  const rest = value % unit;
  if (rest === 0n) return String(whole);
  const digits = String(rest).padStart(String(unit).length - 1, "0");
  return `${whole}.${digits.replace(/0+$/, "")}`;
}

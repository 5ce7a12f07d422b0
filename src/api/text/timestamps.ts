// pure
import type { WallMs } from "../../kit/clock.ts";

/**
 * The only place with `Date`: between our clocks (milliseconds, or nanoseconds as the runtime counts) and
 * the RFC 3339 texts of the API. Years 1 to 9999.
 */
const FIRST_MS = -62_135_596_800_000;
const LAST_MS = 253_402_300_799_999;
const NANOS_PER_MS = 1_000_000n;
const NANOS_PER_SECOND = 1_000_000_000n;

const clamp = (ms: number): number =>
  Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, FIRST_MS), LAST_MS);

/** `2026-01-02T03:04:05` of a time, without zone. */
const wholeSeconds = (ms: number): string => new Date(clamp(ms)).toISOString().slice(0, 19);

/** `2026-01-02T03:04:05Z`, as `metav1.Time` is written; what is finer is cut off. */
export const rfc3339 = (wall: WallMs): string => `${wholeSeconds(wall)}Z`;

/** `2026-01-02T03:04:05.678000Z`, as `metav1.MicroTime` is written. */
export const rfc3339Micro = (wall: WallMs): string =>
  `${new Date(clamp(wall)).toISOString().slice(0, 23)}000Z`;

/** Floor of nanoseconds to the unit, also before 1970. */
const floorDivide = (n: bigint, unit: bigint): bigint =>
  n >= 0n || n % unit === 0n ? n / unit : n / unit - 1n;

/** Nanoseconds since the epoch, as the runtime counts, as time of our clock. */
export const wallFromNanos = (nanos: bigint): WallMs =>
  Number(floorDivide(nanos, NANOS_PER_MS)) as WallMs;

/** Time of our clock in nanoseconds since the epoch. */
export const nanosFromWall = (wall: WallMs): bigint => BigInt(Math.trunc(wall)) * NANOS_PER_MS;

/** `rfc3339` for nanoseconds since the epoch. */
export const rfc3339FromNanos = (nanos: bigint): string => rfc3339(wallFromNanos(nanos));

/** `2026-01-02T03:04:05.000000006Z`, always nine digits, as log lines carry it. */
export function rfc3339NanoFixed(nanos: bigint): string {
  const seconds = floorDivide(nanos, NANOS_PER_SECOND);
  const fraction = (nanos - seconds * NANOS_PER_SECOND).toString().padStart(9, "0");
  return `${wholeSeconds(Number(seconds) * 1000)}.${fraction}Z`;
}

/** Like `rfc3339NanoFixed` without trailing zeros, Go's `RFC3339Nano`. */
export const rfc3339Nano = (nanos: bigint): string =>
  rfc3339NanoFixed(nanos).replace(/\.?0{1,9}Z$/, "Z");

const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,32}))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** Nanoseconds since the epoch, or `undefined` when `text` is no RFC 3339 time. */
export function parseTimestampNanos(text: string): bigint | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number);
  if (month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const offsetMinutes = Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0);
  if (Number(match[9] ?? 0) > 23 || Number(match[10] ?? 0) > 59) return undefined;
  const zoneMs = (match[8] === "-" ? -1 : 1) * offsetMinutes * 60_000;
  const ms = date.getTime() + ((hour * 60 + minute) * 60 + second) * 1000 - zoneMs;
  const fraction = BigInt((match[7] ?? "").slice(0, 9).padEnd(9, "0"));
  return BigInt(ms) * NANOS_PER_MS + fraction;
}

/** Time of our clock, or `undefined` when `text` is no RFC 3339 time. */
export function parseTimestamp(text: string): WallMs | undefined {
  const nanos = parseTimestampNanos(text);
  return nanos === undefined ? undefined : wallFromNanos(nanos);
}

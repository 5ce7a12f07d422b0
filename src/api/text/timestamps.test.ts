import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { WallMs } from "../../kit/clock.ts";
import {
  nanosFromWall,
  parseTimestamp,
  parseTimestampNanos,
  rfc3339,
  rfc3339FromNanos,
  rfc3339Micro,
  rfc3339Nano,
  rfc3339NanoFixed,
  wallFromNanos,
} from "./timestamps.ts";

const wall = (ms: number) => ms as WallMs;

test("rfc3339, rfc3339Micro, rfc3339Nano: shapes", () => {
  assert.equal(rfc3339(wall(1_767_323_045_678)), "2026-01-02T03:04:05Z");
  assert.equal(rfc3339Micro(wall(1_767_323_045_678)), "2026-01-02T03:04:05.678000Z");
  assert.equal(rfc3339FromNanos(1_767_323_045_678_000_001n), "2026-01-02T03:04:05Z");
  assert.equal(rfc3339NanoFixed(1_767_323_045_000_000_006n), "2026-01-02T03:04:05.000000006Z");
  assert.equal(rfc3339Nano(1_767_323_045_120_000_000n), "2026-01-02T03:04:05.12Z");
  assert.equal(rfc3339Nano(1_767_323_040_000_000_000n), "2026-01-02T03:04:00Z");
  assert.equal(rfc3339NanoFixed(-1n), "1969-12-31T23:59:59.999999999Z");
  assert.equal(rfc3339(wall(1e30)), "9999-12-31T23:59:59Z");
  assert.equal(rfc3339(wall(-1e30)), "0001-01-01T00:00:00Z");
  assert.equal(rfc3339(wall(Number.NaN)), "1970-01-01T00:00:00Z");
});

test("parseTimestamp: table", () => {
  const table: readonly [string, number | undefined][] = [
    ["2026-01-02T03:04:05Z", 1_767_323_045_000],
    ["2026-01-02T03:04:05.678Z", 1_767_323_045_678],
    ["2026-01-02T05:04:05+02:00", 1_767_323_045_000],
    ["2026-01-01T22:34:05-04:30", 1_767_323_045_000],
    ["2024-02-29T00:00:00Z", 1_709_164_800_000],
    ["0001-01-01T00:00:00Z", -62_135_596_800_000],
    ["2026-02-29T00:00:00Z", undefined],
    ["2026-13-01T00:00:00Z", undefined],
    ["2026-01-00T00:00:00Z", undefined],
    ["2026-01-02T24:00:00Z", undefined],
    ["2026-01-02T03:04:60Z", undefined],
    ["2026-01-02T03:04:05", undefined],
    ["2026-01-02 03:04:05Z", undefined],
    ["2026-01-02t03:04:05z", undefined],
    ["2026-01-02T03:04:05+2:00", undefined],
    ["2026-01-02T03:04:05+24:00", undefined],
    ["", undefined],
    ["now", undefined],
  ];
  for (const [text, expected] of table) assert.equal(parseTimestamp(text), expected, text);
  assert.equal(parseTimestampNanos("2026-01-02T03:04:05.1234567891Z"), 1_767_323_045_123_456_789n);
});

test("timestamps: writing and reading agree (property)", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 19n }), (nanos) => {
      assert.equal(parseTimestampNanos(rfc3339NanoFixed(nanos)), nanos);
      assert.equal(parseTimestampNanos(rfc3339Nano(nanos)), nanos);
      const ms = wallFromNanos(nanos);
      assert.equal(parseTimestamp(rfc3339Micro(ms)), ms);
      assert.equal(wallFromNanos(nanosFromWall(ms)), ms);
    }),
  );
});

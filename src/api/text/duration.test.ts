import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  durationFromNanoseconds,
  formatDuration,
  formatNanoseconds,
  parseDuration,
} from "./duration.ts";

const GOOD: readonly (readonly [text: string, nanoseconds: bigint, printed: string])[] = [
  ["0", 0n, "0s"],
  ["-0", 0n, "0s"],
  ["5s", 5_000_000_000n, "5s"],
  ["+5s", 5_000_000_000n, "5s"],
  ["-5s", -5_000_000_000n, "-5s"],
  ["30s", 30_000_000_000n, "30s"],
  ["1478s", 1_478_000_000_000n, "24m38s"],
  ["5.0s", 5_000_000_000n, "5s"],
  ["5.6s", 5_600_000_000n, "5.6s"],
  ["5.s", 5_000_000_000n, "5s"],
  [".5s", 500_000_000n, "500ms"],
  ["1.0s", 1_000_000_000n, "1s"],
  ["1.004s", 1_004_000_000n, "1.004s"],
  ["1.0040s", 1_004_000_000n, "1.004s"],
  ["100.00100s", 100_001_000_000n, "1m40.001s"],
  ["10ns", 10n, "10ns"],
  ["11us", 11_000n, "11\u00b5s"],
  ["12\u00b5s", 12_000n, "12\u00b5s"],
  ["12\u03bcs", 12_000n, "12\u00b5s"],
  ["1500us", 1_500_000n, "1.5ms"],
  ["13ms", 13_000_000n, "13ms"],
  ["100ms", 100_000_000n, "100ms"],
  ["15m", 900_000_000_000n, "15m0s"],
  ["16h", 57_600_000_000_000n, "16h0m0s"],
  ["1h30m", 5_400_000_000_000n, "1h30m0s"],
  ["3h30m", 12_600_000_000_000n, "3h30m0s"],
  ["10.5s4m", 250_500_000_000n, "4m10.5s"],
  ["-2m3.4s", -123_400_000_000n, "-2m3.4s"],
  ["1h2m3s4ms5us6ns", 3_723_004_005_006n, "1h2m3.004005006s"],
  ["39h9m14.425s", 140_954_425_000_000n, "39h9m14.425s"],
  ["52763797000ns", 52_763_797_000n, "52.763797s"],
  ["0.3333333333333333333h", 1_200_000_000_000n, "20m0s"],
  ["9007199254740993ns", 9_007_199_254_740_993n, "2501h59m59.254740993s"],
  ["9223372036854775807ns", 9_223_372_036_854_775_807n, "2562047h47m16.854775807s"],
  ["9223372036854775.807us", 9_223_372_036_854_775_807n, "2562047h47m16.854775807s"],
  ["-9223372036854775808ns", -9_223_372_036_854_775_808n, "-2562047h47m16.854775808s"],
  ["0.100000000000000000000h", 360_000_000_000n, "6m0s"],
  ["0.830103483285477580700h", 2_988_372_539_827n, "49m48.372539827s"],
];

test("parseDuration reads what Go reads, to the nanosecond, and it prints as Go prints", () => {
  for (const [text, nanoseconds, printed] of GOOD) {
    const parsed = parseDuration(text);
    assert.ok(parsed.ok, text);
    assert.equal(parsed.nanoseconds, nanoseconds, text);
    assert.equal(formatNanoseconds(nanoseconds), printed, text);
  }
});

const BAD: readonly (readonly [text: string, error: string])[] = [
  ["", 'time: invalid duration ""'],
  ["3", 'time: missing unit in duration "3"'],
  ["-", 'time: invalid duration "-"'],
  ["s", 'time: invalid duration "s"'],
  [".", 'time: invalid duration "."'],
  ["-.", 'time: invalid duration "-."'],
  [".s", 'time: invalid duration ".s"'],
  ["+.s", 'time: invalid duration "+.s"'],
  ["1d", 'time: unknown unit "d" in duration "1d"'],
  ["5 s", 'time: unknown unit " s" in duration "5 s"'],
  ["1m 30s", 'time: unknown unit "m " in duration "1m 30s"'],
  ["1s ", 'time: unknown unit "s " in duration "1s "'],
  ["--1s", 'time: invalid duration "--1s"'],
  ["1_000ms", 'time: unknown unit "_" in duration "1_000ms"'],
  ["1S", 'time: unknown unit "S" in duration "1S"'],
  ["Infinity", 'time: invalid duration "Infinity"'],
  ["9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'],
  ["-9223372036854775809ns", 'time: invalid duration "-9223372036854775809ns"'],
  ["3000000h", 'time: invalid duration "3000000h"'],
  ["1".repeat(129), "invalid duration: 129 characters are too many"],
];

test("parseDuration refuses with Go's words", () => {
  for (const [text, error] of BAD) {
    assert.deepEqual(parseDuration(text), { ok: false, error }, text);
  }
});

test("milliseconds keep fractions", () => {
  const ms = (text: string) => {
    const parsed = parseDuration(text);
    return parsed.ok ? Number(parsed.ms) : undefined;
  };
  assert.equal(ms("1ns"), 1e-6);
  assert.equal(ms("1500us"), 1.5);
  assert.equal(ms("1h"), 3_600_000);
  assert.equal(ms("-1.5s"), -1500);
  assert.equal(Number(durationFromNanoseconds(5_000_000_000)), 5000);
  assert.equal(formatDuration(300_000), "5m0s");
  assert.equal(formatDuration(0.0015), "1.5\u00b5s");
});

test("parse of format gives the same nanoseconds", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), (nanoseconds) => {
      const parsed = parseDuration(formatNanoseconds(nanoseconds));
      // The fraction of a second goes through a float in Go as here; it holds nine digits exactly.
      assert.ok(parsed.ok);
      assert.equal(parsed.nanoseconds, nanoseconds);
    }),
  );
});

test("milliseconds of at most 26 days survive printing and parsing", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: (1n << 51n) - 1n }), (nanoseconds) => {
      const ms = Number(durationFromNanoseconds(nanoseconds));
      const parsed = parseDuration(formatDuration(ms));
      assert.ok(parsed.ok && parsed.nanoseconds === nanoseconds);
    }),
  );
});

test("formatDuration prints whole units as Go does", () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, "0s"],
    [250, "250ms"],
    [1000, "1s"],
    [1500, "1.5s"],
    [59_000, "59s"],
    [60_000, "1m0s"],
    [90_000, "1m30s"],
    [3_600_000, "1h0m0s"],
    [3_661_000, "1h1m1s"],
  ];
  for (const [ms, text] of cases) assert.equal(formatDuration(ms), text);
});

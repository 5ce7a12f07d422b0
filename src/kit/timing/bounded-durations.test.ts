import assert from "node:assert/strict";
import { test } from "node:test";
import {
  grpcTimeout,
  LONGEST_TIMER_MS,
  quotaMicros,
  timerMs,
  wireSeconds,
} from "./bounded-durations.ts";

const HUGE = [1e8, 1e9, 9_223_372_036, 2 ** 53 - 1, 2 ** 63, 1e300, Number.POSITIVE_INFINITY];

const TIMEOUTS: readonly (readonly [ms: number, text: string])[] = [
  [-5, "1m"],
  [0, "1m"],
  [0.2, "1m"],
  [1500.1, "1501m"],
  [99_999_999, "99999999m"],
  [100_000_000, "100000S"],
  [99_999_999_000, "99999999S"],
  [99_999_999_001, "1666667M"],
  [6_000_000_000_000, "1666667H"],
  [Number.POSITIVE_INFINITY, "99999999H"],
];

for (const [ms, text] of TIMEOUTS)
  test(`grpcTimeout: ${ms} ms are ${text}`, () => assert.equal(grpcTimeout(ms), text));

test("grpcTimeout: never more than eight digits, whatever the grace period", () => {
  for (const seconds of HUGE)
    assert.match(grpcTimeout(seconds * 1000 + 120_000), /^[0-9]{1,8}[mSMH]$/);
});

test("timerMs: whole milliseconds that Node's timers can hold", () => {
  assert.equal(timerMs(-1), 0);
  assert.equal(timerMs(1.2), 2);
  assert.equal(timerMs(LONGEST_TIMER_MS), LONGEST_TIMER_MS);
  for (const seconds of HUGE) assert.equal(timerMs(seconds * 1000), LONGEST_TIMER_MS);
});

test("wireSeconds: what a program in Go can count in nanoseconds, and add to the time of day", () => {
  assert.equal(wireSeconds(30), 30n);
  assert.equal(wireSeconds(0.5), 1n);
  assert.equal(wireSeconds(-1), 0n);
  const now = BigInt(Date.now()) * 1_000_000n;
  for (const seconds of HUGE)
    assert.ok(now + wireSeconds(seconds) * 1_000_000_000n < 2n ** 63n, String(seconds));
});

test("quotaMicros: what the kernel takes, also once it is rounded up", () => {
  assert.equal(quotaMicros(150_000.7), 150_000);
  for (const us of HUGE.slice(3)) assert.ok(quotaMicros(us) * 1.01 < 2 ** 44);
  assert.equal(quotaMicros(-1), -1);
});

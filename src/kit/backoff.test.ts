import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffLeftMs } from "./backoff.ts";

const POLICY = { initialMs: 10_000, maxMs: 300_000 };
const HOUR_MS = 3_600_000;
const entry = { delayMs: 40_000, lastUpdate: 0 };

for (const [what, eventAt, now, expected] of [
  ["right after the event", 1_000, 1_000, 40_000],
  ["half of it", 1_000, 21_000, 20_000],
  ["over", 1_000, 41_001, 0],
  ["clocks differ a little", 1_500, 1_000, 40_500],
  ["the clock was set forward", 1_000, HOUR_MS, 0],
  ["the clock was set back: nothing waits until it is there again", HOUR_MS / 10, 0, 0],
] as const)
  test(`backoffLeftMs: ${what}`, () =>
    assert.equal(backoffLeftMs(entry, eventAt, now, POLICY), expected));

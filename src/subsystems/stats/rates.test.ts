import assert from "node:assert/strict";
import { test } from "node:test";
import type { MonotonicMs } from "../../kit/clock.ts";
import { CpuRates } from "./rates.ts";

const CORE = 1e9;
const SECOND = 1e9;
const at = (seconds: number) => (seconds * 1000) as MonotonicMs;

test("an average reaches from one question to a later one", () => {
  const rates = new CpuRates();
  assert.equal(rates.note("/a", at(0), 0), undefined, "the first sample has no rate");
  assert.equal(rates.note("/a", at(0.1), 0), undefined, "too short");
  assert.equal(rates.note("/a", at(2), SECOND), CORE / 2);
  assert.equal(rates.note("/b", at(2), SECOND), undefined, "another group");
});

test("questions each second: the average is over ten to twenty seconds", () => {
  const rates = new CpuRates();
  let nanos = 0;
  for (let second = 0; second <= 60; second += 1) {
    rates.note("/a", at(second), nanos);
    if (second >= 11) {
      const windowMs = rates.windowMs("/a", at(second)) ?? 0;
      assert.ok(windowMs >= 10_000 && windowMs <= 20_000, `${windowMs}`);
    }
    nanos += second < 30 ? 0 : SECOND;
  }
  assert.equal(rates.note("/a", at(61), nanos), CORE, "what was long ago does not matter");
});

test("questions each minute: the average is over the minute", () => {
  const rates = new CpuRates();
  rates.note("/a", at(0), 0);
  rates.note("/a", at(60), 60 * SECOND);
  assert.equal(rates.note("/a", at(120), 75 * SECOND), CORE / 4);
});

test("a counter that decreased or an old sample starts over", () => {
  const rates = new CpuRates();
  rates.note("/a", at(0), 5 * SECOND);
  assert.equal(rates.note("/a", at(10), SECOND), undefined, "the group was recreated");
  assert.equal(rates.note("/a", at(20), 2 * SECOND), CORE / 10);
  assert.equal(rates.note("/a", at(2_000), 3 * SECOND), undefined, "half an hour later");
});

test("keep lets go of groups that are gone", () => {
  const rates = new CpuRates();
  rates.note("/a", at(0), 0);
  rates.note("/b", at(0), 0);
  rates.keep(new Set(["/b"]));
  assert.deepEqual([rates.windowMs("/a", at(1)), rates.windowMs("/b", at(1))], [undefined, 1000]);
});

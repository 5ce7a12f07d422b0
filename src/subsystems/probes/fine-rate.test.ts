import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FineRate } from "./fine-rate.ts";

test("FineRate gives what is requested up to the ceiling, then stretches all alike", () => {
  const rate = new FineRate(20);
  rate.expect(100, 1);
  rate.expect(100, 1);
  assert.equal(rate.periodMs(100, 1000), 100);
  rate.expect(50, 1);
  assert.equal(rate.periodMs(100, 1000), 200);
  assert.equal(rate.periodMs(50, 1000), 100);
  rate.expect(50, -1);
  assert.equal(rate.periodMs(100, 1000), 100);
});

test("FineRate never makes a probe slower than its spec, nor one that is slower anyway faster", () => {
  const rate = new FineRate(1);
  for (let i = 0; i < 100; i += 1) rate.expect(100, 1);
  assert.equal(rate.periodMs(100, 1000), 1000);
  assert.equal(rate.periodMs(1500, 1000), 1500);
});

test("FineRate: whatever is requested, probes with long periods in their specs stay below the ceiling", () => {
  const requested = fc.array(fc.integer({ min: 50, max: 5000 }), { minLength: 1, maxLength: 500 });
  fc.assert(
    fc.property(requested, fc.integer({ min: 1, max: 500 }), (periods, ceiling) => {
      const rate = new FineRate(ceiling);
      for (const ms of periods) rate.expect(ms, 1);
      const perSecond = periods.reduce((sum, ms) => sum + 1000 / rate.periodMs(ms, 1e9), 0);
      assert.ok(perSecond <= ceiling * 1.000_001, `${perSecond} a second`);
      for (const ms of periods) rate.expect(ms, -1);
      assert.ok(rate.requestedPerSecond < 0.001);
    }),
  );
});

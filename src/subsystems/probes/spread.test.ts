import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Spread, STEP_MS } from "./spread.ts";

test("Spread moves what is alone to the next whole step at most, and only where its period has such", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 1e9, noNaN: true }),
      fc.integer({ min: 50, max: 1e6 }),
      (at, period) => {
        const spread = new Spread();
        spread.expect(period, 1);
        const placed = spread.take(at, period);
        assert.ok(placed >= at && placed <= at + STEP_MS, `${at} to ${placed}`);
        if (period % STEP_MS !== 0) assert.equal(placed, at);
        // Once on a step it stays on steps.
        if (placed % STEP_MS === 0 && period % STEP_MS === 0)
          assert.equal(spread.take(placed + period, period), placed + period);
        spread.leave(placed);
      },
    ),
  );
});

test("Spread moves a turn later only, and by no more than a twentieth of its period", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(200), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(100, 1000, 10_000, 60_000),
      (requested, period) => {
        const spread = new Spread();
        for (const _ of requested) spread.expect(period, 1);
        for (const requestedAt of requested) {
          const at = spread.take(requestedAt, period);
          assert.ok(
            at >= requestedAt && at <= requestedAt + Math.min(period / 20, 500),
            `${requestedAt} to ${at}`,
          );
        }
      },
    ),
  );
});

test("Spread brings what comes often onto a step in a few turns, each put off by a little", () => {
  for (const period of [STEP_MS, 2 * STEP_MS, 5 * STEP_MS, 20 * STEP_MS]) {
    const spread = new Spread();
    spread.expect(period, 1);
    let at = 1000 * STEP_MS + 1;
    for (let turn = 0; turn < 20; turn += 1) {
      const placed = spread.take(at + period, period);
      assert.ok(placed - at - period <= period / 20 + 1e-6);
      spread.leave(placed);
      at = placed;
    }
    assert.ok(Math.abs(at / STEP_MS - Math.round(at / STEP_MS)) < 1e-6, `${period}: ${at}`);
    assert.equal(spread.taken, 0);
  }
});

test("Spread drives apart what began at one instant, and then lets it rest", () => {
  const spread = new Spread();
  const PERIOD = 1000;
  const turns = Array.from({ length: 330 }, () => 0);
  for (const _ of turns) spread.expect(PERIOD, 1);
  const placed = turns.map(() => undefined as number | undefined);
  const round = () => {
    const order = turns.map((_, i) => i).sort((a, b) => (turns[a] ?? 0) - (turns[b] ?? 0));
    let moved = 0;
    for (const i of order) {
      if (placed[i] !== undefined) spread.leave(placed[i]);
      const requestedAt = (turns[i] ?? 0) + PERIOD;
      const at = spread.take(requestedAt, PERIOD);
      moved += at - requestedAt;
      turns[i] = at;
      placed[i] = at;
    }
    return moved;
  };
  for (let i = 0; i < 60; i += 1) round();
  const buckets = new Map<number, number>();
  for (const at of turns) {
    const bucket = Math.floor((at % PERIOD) / STEP_MS);
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
  }
  const mean = (turns.length * STEP_MS) / PERIOD;
  assert.ok(Math.max(...buckets.values()) <= mean + 2, `${Math.max(...buckets.values())} at once`);
  assert.ok(round() / turns.length <= 1, "moved by a millisecond a turn at most once at rest");
});

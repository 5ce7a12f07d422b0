import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { WallMs } from "../../kit/clock.ts";
import { crossingMs } from "./forecast.ts";

const at = (seconds: number, available: number) => ({
  available,
  capacity: 1_000,
  atMs: (seconds * 1_000) as WallMs,
});

test("crossingMs: how long what is left lasts at the present rate", () => {
  const table: readonly [string, ReturnType<typeof at> | undefined, number, number | undefined][] =
    [
      ["10 a second, 300 above the threshold", at(0, 1_000), 400, 30_000],
      ["it grows", at(0, 600), 400, undefined],
      ["it stays", at(0, 700), 400, undefined],
      ["nothing to compare with", undefined, 400, undefined],
      ["too short a span", at(28, 800), 400, undefined],
      ["more than a day", at(0, 700.001), 400, undefined],
      ["exactly there", at(0, 1_000), 700, 0],
    ];
  for (const [name, before, required, expected] of table)
    assert.equal(
      crossingMs({ observed: at(30, 700), required, state: "unmet" }, before),
      expected,
      name,
    );
  assert.equal(
    crossingMs({ observed: at(30, 700), required: 800, state: "met" }, at(0, 900)),
    undefined,
  );
  assert.equal(
    crossingMs({ observed: undefined, required: 1, state: "unknown" }, at(0, 9)),
    undefined,
  );
});

test("crossingMs: at that moment, at that rate, the threshold is reached", () => {
  const amounts = fc.integer({ min: 1, max: 1_000_000 });
  fc.assert(
    fc.property(
      amounts,
      amounts,
      amounts,
      fc.integer({ min: 5, max: 60 }),
      (a, b, required, seconds) => {
        const observed = at(seconds, a);
        const before = at(0, a + b);
        const ms = crossingMs(
          { observed, required: Math.min(required, a), state: "unmet" },
          before,
        );
        if (ms === undefined) return;
        const left = a - (b / seconds) * (ms / 1_000);
        assert.ok(Math.abs(left - Math.min(required, a)) < 1e-3 * a + 1e-3);
      },
    ),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { PullLanes } from "../../src/subsystems/images/pull/pull-lanes.ts";
import { SimClock } from "../sim/sim-clock.ts";

test("a long pull that found all lent places taken lends its own when one of those ends", async () => {
  const clock = new SimClock();
  const lanes = new PullLanes({ limit: 1, perRegistry: 1 }, clock);
  const { signal } = new AbortController();
  const ends: (() => void)[] = [];
  const begin = () =>
    lanes.run(
      "r.test",
      async () => {
        const end = Promise.withResolvers<void>();
        ends.push(end.resolve);
        await end.promise;
      },
      signal,
    );
  // Sixteen lend their places, and the one after them has none to lend.
  const pulls = Array.from({ length: 18 }, begin);
  await clock.advance(20 * 60_000);
  assert.equal(ends.length, 17);
  ends[3]?.();
  await clock.advance(1);
  assert.equal(ends.length, 18, "the last one has its turn");
  for (const end of ends) end();
  await Promise.all(pulls);
});

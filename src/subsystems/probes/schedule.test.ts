import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { Schedule } from "./schedule.ts";

test("Schedule fires in order, each turn at its time, behind one alarm", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(50), fc.boolean()), { maxLength: 30 }),
      async (asks) => {
        const clock = new SimClock();
        const schedule = new Schedule(clock);
        const fired: number[] = [];
        const turns = asks.map(([at], i) =>
          schedule.at(at, () => {
            assert.equal(clock.monotonic(), at);
            fired.push(i);
          }),
        );
        asks.forEach(([, isCancelled], i) => {
          if (isCancelled) turns[i]?.cancel();
        });
        assert.ok(clock.pending <= 1);
        await clock.advance(50);
        const expected = asks
          .map(([at, isCancelled], i) => ({ at, isCancelled, i }))
          .filter(({ isCancelled }) => !isCancelled)
          .sort((a, b) => a.at - b.at || a.i - b.i)
          .map(({ i }) => i);
        assert.deepEqual(fired, expected);
        assert.equal(clock.pending, 0);
      },
    ),
    { numRuns: 50 },
  );
});

test("Schedule takes turns that are asked for while it fires, and those of the past", async () => {
  const clock = new SimClock();
  const schedule = new Schedule(clock);
  const fired: string[] = [];
  schedule.at(10, () => {
    fired.push("first");
    schedule.at(5, () => fired.push("late"));
    schedule.at(12, () => fired.push("next"));
  });
  await clock.advance(20);
  assert.deepEqual(fired, ["first", "late", "next"]);
});

test("Schedule goes on after a turn that throws, and not after close", async () => {
  const clock = new SimClock();
  const schedule = new Schedule(clock);
  let fired = 0;
  schedule.at(1, () => {
    throw new Error("broken");
  });
  schedule.at(2, () => {
    fired += 1;
  });
  schedule.at(3, () => {
    fired += 10;
  });
  await assert.rejects(clock.advance(1), /broken/);
  await clock.advance(1);
  schedule.close();
  await clock.advance(10);
  assert.equal(fired, 1);
  schedule.at(20, () => {});
  assert.equal(clock.pending, 0);
});

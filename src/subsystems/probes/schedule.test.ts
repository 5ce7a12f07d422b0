import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { Schedule } from "./schedule.ts";

function fireAt(schedule: Schedule, at: number, fire: () => void): void {
  schedule.turn(fire).set(at);
}

test("Schedule fires in order, each turn at its time, behind one alarm", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(50), fc.boolean()), { maxLength: 30 }),
      async (asks) => {
        const clock = new SimClock();
        const schedule = new Schedule(clock);
        const fired: number[] = [];
        const turns = asks.map(([at], i) => {
          const turn = schedule.turn(() => {
            assert.equal(clock.monotonic(), at);
            assert.equal(turn.at, undefined);
            fired.push(i);
          });
          turn.set(at);
          return turn;
        });
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
  fireAt(schedule, 10, () => {
    fired.push("first");
    fireAt(schedule, 5, () => fired.push("late"));
    fireAt(schedule, 12, () => fired.push("next"));
  });
  await clock.advance(20);
  assert.deepEqual(fired, ["first", "late", "next"]);
});

test("Schedule lets a turn come when it was last set to, and as often as it is set", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(40), fc.nat(60), fc.boolean()), { maxLength: 40 }),
      async (orders) => {
        const clock = new SimClock();
        const schedule = new Schedule(clock);
        const came: number[] = [];
        const turn = schedule.turn(() => came.push(clock.monotonic()));
        const expected: number[] = [];
        let due: number | undefined;
        for (const [waitMs, inMs, isCancelled] of orders) {
          const now = clock.monotonic() + waitMs;
          if (due !== undefined && due <= now) {
            expected.push(due);
            due = undefined;
          }
          await clock.advance(waitMs);
          assert.equal(turn.at, due);
          if (isCancelled) turn.cancel();
          else turn.set(now + 1 + inMs);
          due = isCancelled ? undefined : now + 1 + inMs;
        }
        if (due !== undefined) expected.push(due);
        await clock.advance(100);
        assert.deepEqual(came, expected);
        assert.equal(clock.pending, 0);
      },
    ),
    { numRuns: 50 },
  );
});

test("Schedule goes on after a turn that throws, and not after close", async () => {
  const clock = new SimClock();
  const schedule = new Schedule(clock);
  let fired = 0;
  fireAt(schedule, 1, () => {
    throw new Error("broken");
  });
  fireAt(schedule, 2, () => {
    fired += 1;
  });
  fireAt(schedule, 3, () => {
    fired += 10;
  });
  await assert.rejects(clock.advance(1), /broken/);
  await clock.advance(1);
  schedule.close();
  await clock.advance(10);
  assert.equal(fired, 1);
  fireAt(schedule, 20, () => {});
  assert.equal(clock.pending, 0);
});

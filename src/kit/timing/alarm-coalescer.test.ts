import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { AlarmCoalescer } from "./alarm-coalescer.ts";

/** Alarms of a process whose moments are 3 s after those of the clock; each turn that fires some is kept. */
function coalescing() {
  const clock = new SimClock();
  const turns: (readonly string[])[] = [];
  let turn: string[] | undefined;
  let alarmsSet = 0;
  const alarms = new AlarmCoalescer({
    monotonic: () => clock.monotonic(),
    alarm: (delayMs, fire) => {
      alarmsSet += 1;
      return clock.alarm(delayMs, () => {
        turn = [];
        fire();
        if (turn.length > 0) turns.push(turn);
      });
    },
    phaseMs: 3_000,
  });
  const set = (ms: number, name: string) =>
    alarms.alarm(ms, () => turn?.push(`${name} ${clock.monotonic()}`));
  return { clock, alarms, turns, set, count: () => alarmsSet };
}

test("AlarmCoalescer fires in one turn what is due about the same time", async () => {
  const { clock, turns, set, count } = coalescing();
  set(10_000, "a");
  await clock.advance(2_000);
  set(10_000, "b");
  set(5_000, "c");
  await clock.advance(2_500);
  set(30_000, "d");
  assert.equal(count(), 3, "one alarm for each moment");
  await clock.advance(60_000);
  assert.deepEqual(turns, [["c 8000"], ["a 13000", "b 13000"], ["d 33000"]]);
});

/** Delay, when it is set, and when it fires. */
const MOMENTS: readonly (readonly [delayMs: number, setAt: number, firesAt: number])[] = [
  [10_000, 3_000, 13_000],
  [10_000, 3_007, 13_000],
  [10_000, 7_999, 13_000],
  [10_000, 8_000, 23_000],
  [20_000, 3_500, 23_000],
  [30_000, 0, 33_000],
  [60_000, 30_000, 63_000],
  [300_000, 3_100, 303_000],
  [75_300, 0, 73_000],
  [49_999, 1, 50_000],
  [1_000, 3, 1_003],
  [7_500, 3, 7_503],
  [0, 5, 5],
];
for (const [delayMs, setAt, firesAt] of MOMENTS)
  test(`AlarmCoalescer: ${delayMs} ms, set at ${setAt}, fires at ${firesAt}`, async () => {
    const { clock, alarms, turns, set } = coalescing();
    await clock.advance(setAt);
    assert.equal(setAt + alarms.delayMs(delayMs), firesAt);
    set(delayMs, "a");
    await clock.advance(600_000);
    assert.deepEqual(turns, [[`a ${firesAt}`]]);
  });

test("AlarmCoalescer: what is cancelled does not fire, and the last one takes the alarm along", async () => {
  const { clock, turns, set } = coalescing();
  const [first, second] = [set(10_000, "a"), set(10_000, "b")];
  first();
  first();
  assert.equal(clock.pending, 1);
  second();
  assert.equal(clock.pending, 0);
  set(10_000, "c");
  second();
  await clock.advance(20_000);
  assert.deepEqual(turns, [["c 13000"]]);
});

test("AlarmCoalescer: one that fires may cancel its neighbours and set the next", async () => {
  const { clock, alarms } = coalescing();
  const fired: string[] = [];
  let cancel = () => {};
  alarms.alarm(10_000, () => {
    fired.push(`a ${clock.monotonic()}`);
    cancel();
    alarms.alarm(10_000, () => fired.push(`next ${clock.monotonic()}`));
  });
  cancel = alarms.alarm(10_000, () => fired.push("cancelled"));
  await clock.advance(30_000);
  assert.deepEqual(fired, ["a 13000", "next 23000"]);
});

test("AlarmCoalescer waits on where a timer fires before its time", () => {
  let now = 0;
  const armed: { readonly delayMs: number; readonly fire: () => void }[] = [];
  const alarms = new AlarmCoalescer({
    monotonic: () => now,
    alarm: (delayMs, fire) => {
      armed.push({ delayMs, fire });
      return () => {};
    },
    phaseMs: 0,
  });
  let fired = 0;
  alarms.alarm(10_000, () => {
    fired += 1;
  });
  now = 9_996;
  armed[0]?.fire();
  assert.deepEqual([fired, armed[1]?.delayMs], [0, 4]);
  now = 10_000;
  armed[1]?.fire();
  assert.equal(fired, 1);
});

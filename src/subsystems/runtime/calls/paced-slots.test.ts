import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { IdleProcessors } from "./idle-processors.ts";
import { LENT_AFTER_MS, PACE_MS, PacedSlots } from "./paced-slots.ts";

const CPUS = 4;
const never = new AbortController().signal;

/** Slots on a machine with four processors, of which so many are idle; each call takes as long as it says. */
function aMachine({ total, idle }: { readonly total: number; readonly idle: number }) {
  const clock = new SimClock();
  const readKernel = (path: string) => {
    assert.equal(path, "/proc/stat");
    const ticks = clock.monotonic() / 10;
    const columns = [100 + (CPUS - idle) * ticks, 0, 0, 7 + (idle / 2) * ticks, (idle / 2) * ticks];
    return `cpu  ${columns.map(Math.round).join(" ")} 0 0 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n`;
  };
  const slots = new PacedSlots(total, {
    clock,
    processors: new IdleProcessors(readKernel, CPUS),
  });
  let underWay = 0;
  const run = (ms: number, signal = never) =>
    slots.run("", signal, async () => {
      underWay += 1;
      await clock.sleep(ms, never);
      underWay -= 1;
    });
  return { clock, slots, run, underWay: () => underWay };
}

for (const [idle, atOnce] of [
  [0, [4, 4, 4]],
  [0.4, [4, 4, 4]],
  [0.6, [5, 6, 7]],
  [3, [7, 10, 13]],
  [4, [8, 12, 14]],
] as const)
  test(`PacedSlots: with ${idle} of ${CPUS} processors idle ${atOnce.join(", ")} calls are made at once`, async () => {
    const { clock, run, underWay } = aMachine({ total: CPUS, idle });
    for (let i = 0; i < 14; i += 1) void run(LENT_AFTER_MS / 2);
    await clock.settle();
    assert.equal(underWay(), CPUS);
    for (const expected of atOnce) {
      await clock.advance(PACE_MS);
      assert.equal(underWay(), expected);
    }
  });

test("PacedSlots: calls that take long do not count, however busy the machine is", async () => {
  const { clock, slots, run, underWay } = aMachine({ total: 2, idle: 0 });
  const hanging = [run(60_000), run(60_000)];
  const others = Array.from({ length: 4 }, () => run(100));
  await clock.advance(LENT_AFTER_MS - PACE_MS);
  assert.equal(underWay(), 2);
  await clock.advance(2 * PACE_MS + 200);
  await Promise.all(others);
  assert.equal(underWay(), 2);
  assert.equal(slots.waiting, 0);
  await clock.advance(60_000);
  await Promise.all(hanging);
  await slots.untilIdle();
  assert.equal(clock.pending, 0);
});

test("PacedSlots: nothing is measured while nothing waits", async () => {
  const { clock, run } = aMachine({ total: 2, idle: 0 });
  const calls = [run(10_000), run(10_000)];
  await clock.settle();
  assert.equal(clock.pending, 2);
  const stop = new AbortController();
  const third = run(1, stop.signal).catch((error: unknown) => error);
  assert.equal(clock.pending, 3);
  stop.abort(new Error("enough"));
  await clock.advance(PACE_MS);
  assert.equal(clock.pending, 2);
  await clock.advance(10_000);
  await Promise.all([...calls, third]);
  assert.equal(clock.pending, 0);
});

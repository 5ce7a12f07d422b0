import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { Cell } from "../cell.ts";
import { type ControlLoop, runControlLoop } from "./control-loop.ts";

/** A loop that notes when it runs; each run takes so long. */
function aLoop(over: Partial<ControlLoop<number>> = {}, runMs = 0) {
  const clock = new SimClock();
  const began = clock.monotonic();
  const cell = new Cell(0);
  const runs: number[] = [];
  const leave = new AbortController();
  const loop: ControlLoop<number> = {
    name: "test",
    wakeOn: [cell],
    everyMs: 1_000,
    plan: () => cell.get(),
    act: async () => {
      runs.push(clock.monotonic() - began);
      if (runMs > 0) await clock.sleep(runMs, leave.signal).catch(() => {});
    },
    ...over,
  };
  const ended = runControlLoop(loop, clock, leave.signal);
  return { clock, cell, runs, leave, ended };
}

test("runControlLoop: at once, then at its interval", async () => {
  const { clock, runs } = aLoop();
  await clock.advance(2_500);
  assert.deepEqual(runs, [0, 1_000, 2_000]);
});

test("runControlLoop: the pause may be another one each time, and endless", async () => {
  let everyMs = 100;
  const { clock, cell, runs } = aLoop({ everyMs: () => everyMs });
  await clock.advance(250);
  everyMs = Number.POSITIVE_INFINITY;
  await clock.advance(10_000);
  assert.deepEqual(runs, [0, 100, 200, 300]);
  cell.set(1);
  await clock.settle();
  assert.equal(runs.length, 5);
});

test("runControlLoop: a change runs it at once; one that comes while it runs, once more", async () => {
  const { clock, cell, runs } = aLoop({}, 50);
  await clock.advance(20);
  cell.set(1);
  cell.set(2);
  await clock.advance(200);
  cell.set(3);
  await clock.advance(500);
  assert.deepEqual(runs, [0, 50, 220]);
});

test("runControlLoop: without a plan nothing is done", async () => {
  const isWanted = new Cell(false);
  const { clock, runs } = aLoop({
    wakeOn: [isWanted],
    plan: () => (isWanted.get() ? 1 : undefined),
  });
  await clock.advance(500);
  assert.deepEqual(runs, []);
  isWanted.set(true);
  await clock.settle();
  assert.deepEqual(runs, [500]);
});

test("runControlLoop: ends with its signal, and holds on to nothing", async () => {
  const { clock, cell, runs, leave, ended } = aLoop();
  await clock.advance(10);
  leave.abort(new Error("leaving"));
  await ended;
  cell.set(1);
  await clock.advance(5_000);
  assert.deepEqual([runs, clock.pending], [[0], 0]);
});

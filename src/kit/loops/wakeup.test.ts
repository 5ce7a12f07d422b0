import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { Cell } from "../cell.ts";
import { Wakeup, waitForChange } from "./wakeup.ts";

const never = new AbortController().signal;

/** Returns whether a wait is over. */
function watched(wait: Promise<void>): { isOver: boolean } {
  const state = { isOver: false };
  void wait.then(() => {
    state.isOver = true;
  });
  return state;
}

test("Wakeup: a wait ends when it is woken, and the next one waits again", async () => {
  const clock = new SimClock();
  const wakeup = new Wakeup();
  const first = watched(wakeup.wait(undefined, never));
  await clock.settle();
  assert.equal(first.isOver, false);
  wakeup.wake();
  await clock.settle();
  assert.equal(first.isOver, true);
  const second = watched(wakeup.wait(undefined, never));
  await clock.settle();
  assert.equal(second.isOver, false);
});

test("Wakeup: what wakes it between two waits ends the next one at once, and only that", async () => {
  const clock = new SimClock();
  const wakeup = new Wakeup();
  wakeup.wake();
  wakeup.wake();
  await wakeup.wait({ clock, ms: 1_000 }, never);
  assert.equal(clock.pending, 0);
  const next = watched(wakeup.wait({ clock, ms: 1_000 }, never));
  await clock.settle();
  assert.equal(next.isOver, false);
});

test("Wakeup: a wait ends at its limit, and an alarm is left behind by none", async () => {
  const clock = new SimClock();
  const wakeup = new Wakeup();
  const late = watched(wakeup.wait({ clock, ms: 1_000 }, never));
  await clock.advance(999);
  assert.equal(late.isOver, false);
  await clock.advance(1);
  assert.equal(late.isOver, true);
  const woken = watched(wakeup.wait({ clock, ms: 1_000 }, never));
  wakeup.wake();
  await clock.settle();
  assert.deepEqual([woken.isOver, clock.pending], [true, 0]);
  const endless = watched(wakeup.wait({ clock, ms: Number.POSITIVE_INFINITY }, never));
  await clock.settle();
  assert.deepEqual([endless.isOver, clock.pending], [false, 0]);
});

test("Wakeup: an aborted signal ends a wait, and one that was aborted before begins none", async () => {
  const clock = new SimClock();
  const wakeup = new Wakeup();
  const leave = new AbortController();
  const wait = watched(wakeup.wait({ clock, ms: 1_000 }, leave.signal));
  leave.abort(new Error("leaving"));
  await clock.settle();
  assert.deepEqual([wait.isOver, clock.pending], [true, 0]);
  await wakeup.wait({ clock, ms: 1_000 }, leave.signal);
  assert.equal(clock.pending, 0);
});

test("waitForChange: only what changes while it waits ends it", async () => {
  const clock = new SimClock();
  const cell = new Cell(0);
  cell.set(1);
  const wait = watched(waitForChange([cell], { clock, ms: 1_000 }, never));
  await clock.settle();
  assert.equal(wait.isOver, false);
  cell.set(2);
  await clock.settle();
  assert.deepEqual([wait.isOver, clock.pending], [true, 0]);
});

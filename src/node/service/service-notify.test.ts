import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { Cell } from "../../kit/cell.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { TaskScope } from "../../kit/scope.ts";
import type { WatchedAgent } from "./judge-watchdog.ts";
import { startServiceNotify } from "./service-notify.ts";

const WELL: WatchedAgent = {
  unhealthy: [],
  listing: { ageMs: 0, isRuntimeReady: true },
  isOverloaded: false,
};

function start(watchdogMs: number | undefined, failure?: OutsideError) {
  const clock = new SimClock();
  const scope = new TaskScope("agent", { clock, log: silentLog });
  const sent: string[] = [];
  const world = { agent: WELL, status: "3 pods", failure, seen: new Cell(true) };
  startServiceNotify({
    manager: {
      watchdogMs,
      notify: async (assignments) => {
        sent.push(assignments.join(" "));
        if (world.failure) throw world.failure;
      },
    },
    clock,
    log: silentLog,
    scope,
    watched: () => world.agent,
    seen: world.seen,
    status: () => world.status,
  });
  return { clock, scope, world, take: () => sent.splice(0) };
}

test("startServiceNotify: ready first, the watchdog twice within its time, the status when it changes", async () => {
  const { clock, scope, world, take } = start(60_000);
  await clock.advance(1);
  assert.deepEqual(take(), ["READY=1 WATCHDOG=1 STATUS=3 pods"]);
  await clock.advance(60_000);
  assert.deepEqual(take(), ["WATCHDOG=1", "WATCHDOG=1"]);
  world.status = "4 pods";
  await clock.advance(30_000);
  assert.deepEqual(take(), ["WATCHDOG=1 STATUS=4 pods"]);
  const closing = scope[Symbol.asyncDispose]();
  await clock.advance(1);
  await closing;
  assert.deepEqual(take(), ["STOPPING=1"]);
});

test("startServiceNotify: the status says at once when the sources of pods were seen", async () => {
  const { clock, world, take } = start(60_000);
  world.seen.set(false);
  world.status = "waiting";
  await clock.advance(30_001);
  assert.deepEqual(take(), ["READY=1 WATCHDOG=1 STATUS=3 pods", "WATCHDOG=1 STATUS=waiting"]);
  world.status = "4 pods";
  world.seen.set(true);
  await clock.advance(1);
  assert.deepEqual(take(), ["WATCHDOG=1 STATUS=4 pods"]);
});

test("startServiceNotify: an agent that is not well does not feed the watchdog, and says why", async () => {
  const { clock, world, take } = start(60_000);
  await clock.advance(1);
  take();
  world.agent = { ...WELL, unhealthy: ["threads: stuck"] };
  await clock.advance(90_000);
  assert.deepEqual(take(), ["STATUS=not well: threads: stuck"]);
  world.agent = WELL;
  await clock.advance(30_000);
  assert.deepEqual(take(), ["WATCHDOG=1 STATUS=3 pods"]);
});

test("startServiceNotify: an agent that is well again feeds the watchdog before its time is up", async () => {
  const { clock, world, take } = start(60_000);
  await clock.advance(1);
  take();
  world.agent = { ...WELL, unhealthy: ["the node's lease has run out"] };
  await clock.advance(31_000);
  assert.deepEqual(take(), ["STATUS=not well: the node's lease has run out"]);
  world.agent = WELL;
  await clock.advance(10_000);
  assert.deepEqual(take(), ["WATCHDOG=1 STATUS=3 pods"]);
});

test("startServiceNotify: what could not be sent is sent again soon, READY=1 too", async () => {
  const late = new OutsideError("deadline", "systemd-notify did not end within 10000 ms");
  const { clock, world, take } = start(60_000, late);
  await clock.advance(1);
  assert.deepEqual(take(), ["READY=1 WATCHDOG=1 STATUS=3 pods"]);
  await clock.advance(5_000);
  assert.deepEqual(take(), ["READY=1 WATCHDOG=1 STATUS=3 pods"]);
  world.failure = undefined;
  await clock.advance(5_000);
  assert.deepEqual(take(), ["READY=1 WATCHDOG=1 STATUS=3 pods"]);
  await clock.advance(29_000);
  assert.deepEqual(take(), []);
  world.failure = late;
  await clock.advance(1_000);
  world.failure = undefined;
  await clock.advance(5_000);
  assert.deepEqual(take(), ["WATCHDOG=1", "WATCHDOG=1"]);
});

test("startServiceNotify: without a watchdog only the status; a manager that cannot be notified stops nothing", async () => {
  const { clock, world, take } = start(
    undefined,
    new OutsideError("notFound", "systemd-notify: ENOENT"),
  );
  await clock.advance(15_000);
  assert.deepEqual(take(), ["READY=1 STATUS=3 pods", "READY=1 STATUS=3 pods"]);
  world.failure = undefined;
  await clock.advance(5_000);
  take();
  world.status = "4 pods";
  await clock.advance(60_000);
  assert.deepEqual(take(), ["STATUS=4 pods"]);
});

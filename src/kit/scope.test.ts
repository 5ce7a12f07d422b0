import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { SimClock } from "../../test/sim/sim-clock.ts";
import { silentLog } from "./log.ts";
import { TaskScope } from "./scope.ts";

function scopeWith(clock: SimClock) {
  const errors: unknown[] = [];
  const log = {
    ...silentLog,
    error: (message: string, fields?: object) => errors.push([message, fields]),
  };
  return { scope: new TaskScope("agent", { clock, log }), errors };
}

test("closing aborts tasks and closes what was deferred, the latest first", async () => {
  const clock = new SimClock();
  const { scope, errors } = scopeWith(clock);
  const closed: string[] = [];
  scope.defer("first", () => void closed.push("first"));
  scope.spawn("loop", "restart", async (signal) => {
    await clock.sleep(1_000_000, signal).catch(() => {});
    closed.push("loop");
  });
  scope.defer("last", () => Promise.reject(new Error("no")));
  await scope[Symbol.asyncDispose]();
  assert.equal(closed.at(-1), "first");
  assert.ok(closed.includes("loop"));
  assert.equal(errors.length, 1);
  assert.equal(clock.nextInMs, undefined, "no alarm is left");
});

test("a task that does not end is named and left behind after 20 s", async () => {
  const clock = new SimClock();
  const { scope, errors } = scopeWith(clock);
  let isFirstClosed = false;
  scope.defer("first", () => {
    isFirstClosed = true;
  });
  scope.spawn("stuck", "fail", () => new Promise(() => {}));
  const closed = scope[Symbol.asyncDispose]();
  await clock.advance(19_999);
  assert.equal(isFirstClosed, false);
  await clock.advance(1);
  await closed;
  assert.equal(isFirstClosed, true);
  assert.equal(errors.length, 1);
  assert.match(inspect(errors, { depth: 4 }), /part: 'stuck'/);
  assert.match(inspect(errors, { depth: 4 }), /closing stuck did not answer within 20 s/);
});

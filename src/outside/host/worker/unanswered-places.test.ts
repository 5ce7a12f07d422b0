import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../../test/sim/sim-clock.ts";
import { silentLog } from "../../../kit/log.ts";
import { UnansweredPlaces } from "./unanswered-places.ts";

function world() {
  const clock = new SimClock();
  const places = new UnansweredPlaces({ clock, log: silentLog });
  const worker = { exited: new Promise<void>(() => {}) };
  const refusal = (path: string) => places.refusal("files.facts", [path])?.message;
  return { clock, places, worker, refusal };
}

test("timedOut: the place of a request is not asked again", () => {
  const { clock, places, worker, refusal } = world();
  const error = places.timedOut("files.facts", ["/proc/a"], clock.monotonic(), worker);
  assert.match(error.message, /^facts \/proc\/a: unknown, because .* did not answer within 10 s$/);
  assert.match(refusal("/proc/a") ?? "", /has not answered/);
  assert.deepEqual([places.list().length, places.stuck, places.timeouts], [1, 1, 1]);
});

test("timedOut: nothing is held against any place where a request has no paths", () => {
  const { clock, places, worker, refusal } = world();
  const error = places.timedOut("memory.release", [], clock.monotonic(), worker);
  assert.equal(error.message, "memory.release: not done within 10 s");
  assert.equal(error.code, "deadline");
  assert.deepEqual(places.list(), []);
  for (const path of ["/", "/etc"]) assert.equal(refusal(path), undefined);
  assert.equal(places.timeouts, 1);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { InvariantError } from "../../src/kit/errors.ts";
import { SimClock } from "./sim-clock.ts";

const never = new AbortController().signal;

test("advance fires alarms by time and then by order of setting, each at its own time", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(20), { maxLength: 30 }), async (delays) => {
      const clock = new SimClock();
      const fired: [number, number][] = [];
      delays.forEach((delay, i) => {
        clock.alarm(delay, () => {
          assert.equal(clock.monotonic(), delay);
          fired.push([delay, i]);
        });
      });
      await clock.advance(10);
      assert.ok(fired.every(([delay]) => delay <= 10));
      assert.equal(clock.pending, delays.filter((delay) => delay > 10).length);
      await clock.advance(10);
      assert.deepEqual(
        fired,
        delays
          .map((delay, i) => [delay, i])
          .sort(([a = 0, i = 0], [b = 0, j = 0]) => a - b || i - j),
      );
    }),
    { numRuns: 30 },
  );
});

test("advance runs what alarms set and what promises continue, between alarms", async () => {
  const clock = new SimClock();
  const seen: string[] = [];
  const walk = async () => {
    for (let i = 0; i < 3; i += 1) {
      await clock.sleep(10, never);
      await Promise.resolve();
      seen.push(`step at ${clock.monotonic()}`);
    }
  };
  const walked = walk();
  clock.alarm(10, () => {
    seen.push("alarm");
    clock.alarm(0, () => seen.push(`at once at ${clock.monotonic()}`));
  });
  await clock.advance(25);
  assert.deepEqual(seen, ["step at 10", "alarm", "at once at 10", "step at 20"]);
  assert.equal(clock.monotonic(), 25);
  await clock.advance(5);
  await walked;
});

test("a cancelled alarm does not fire, and cancelling late or twice does nothing", async () => {
  const clock = new SimClock();
  let fired = 0;
  const cancel = clock.alarm(5, () => {
    fired += 1;
  });
  const cancelLate = clock.alarm(6, () => {
    fired += 10;
  });
  cancel();
  cancel();
  assert.equal(clock.pending, 1);
  assert.equal(clock.nextInMs, 6);
  await clock.advance(10);
  cancelLate();
  assert.equal(fired, 10);
  assert.equal(clock.pending, 0);
  assert.equal(clock.nextInMs, undefined);
});

test("sleep rejects with the signal's reason without any time passing", async () => {
  const clock = new SimClock();
  const stop = new AbortController();
  const slept = clock.sleep(1000, stop.signal);
  const reason = new Error("enough");
  stop.abort(reason);
  await assert.rejects(slept, reason);
  assert.equal(clock.pending, 0);
});

test("runUntil stops at the first moment at which the predicate holds", async () => {
  const clock = new SimClock();
  let count = 0;
  const tick = () => {
    count += 1;
    clock.alarm(7, tick);
  };
  clock.alarm(7, tick);
  assert.equal(await clock.runUntil(() => count === 3, 1000), 21);
  assert.equal(await clock.runUntil(() => count === 3, 0), 0);
  await assert.rejects(
    clock.runUntil(() => count > 100, 50),
    /not so after 50 ms/,
  );
  assert.equal(clock.monotonic(), 71);
  assert.equal(await clock.runUntil(() => clock.monotonic() >= 75, 4), 4);
});

test("wall time follows, and steps without moving monotonic time or alarms", async () => {
  const clock = new SimClock({ wallMs: 1_000_000 });
  let firedAt = 0;
  clock.alarm(50, () => {
    firedAt = clock.monotonic();
  });
  clock.stepWall(-500);
  await clock.advance(100);
  assert.equal(clock.wall(), 999_600);
  assert.equal(firedAt, 50);
});

test("time cannot go back, be moved twice at once, or stand still for ever", async () => {
  const clock = new SimClock();
  await assert.rejects(clock.advance(-1), InvariantError);
  assert.throws(() => clock.alarm(Number.NaN, () => {}), InvariantError);
  const first = clock.advance(1);
  await assert.rejects(clock.advance(1), InvariantError);
  await first;
  const spin = () => {
    clock.alarm(0, spin);
  };
  spin();
  await assert.rejects(clock.advance(1), /circles/);
});

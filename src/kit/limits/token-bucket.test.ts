import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { type RateLimit, TokenBucket } from "./token-bucket.ts";

const never = new AbortController().signal;

function aBucket(limit: RateLimit) {
  const clock = new SimClock();
  const bucket = new TokenBucket(limit, clock);
  const times: number[] = [];
  const take = (signal = never) =>
    bucket.take(signal).then(() => {
      times.push(clock.monotonic());
    });
  return { clock, bucket, times, take };
}

test("TokenBucket: a burst at once, then one after the other in the order of the calls", async () => {
  const { clock, times, take } = aBucket({ qps: 10, burst: 3 });
  for (let i = 0; i < 6; i += 1) void take();
  await clock.advance(1_000);
  assert.deepEqual(times, [0, 0, 0, 100, 200, 300]);
});

test("TokenBucket: fills up to its burst and no further", async () => {
  const { clock, bucket } = aBucket({ qps: 10, burst: 2 });
  const grants = () => [1, 2, 3].map(() => bucket.tryTake());
  assert.deepEqual(grants(), [true, true, false]);
  await clock.advance(99);
  assert.equal(bucket.tryTake(), false);
  await clock.advance(1);
  assert.deepEqual(grants(), [true, false, false]);
  await clock.advance(60_000);
  assert.deepEqual(grants(), [true, true, false]);
});

test("TokenBucket: who gives up leaves the token to the others", async () => {
  const { clock, times, take } = aBucket({ qps: 10, burst: 1 });
  const stop = new AbortController();
  await take();
  const given = assert.rejects(take(stop.signal), /enough/);
  stop.abort(new Error("enough"));
  await given;
  void take();
  await clock.advance(1_000);
  assert.deepEqual(times, [0, 100]);
});

test("TokenBucket: without a rate nobody waits, without a burst everybody", async () => {
  const open = aBucket({ qps: 0, burst: 0 });
  await Promise.all([1, 2, 3].map(() => open.take()));
  assert.deepEqual([open.times, open.bucket.tryTake()], [[0, 0, 0], true]);
  const { clock, bucket, times, take } = aBucket({ qps: 1, burst: 0 });
  assert.equal(bucket.tryTake(), false);
  void take();
  await clock.advance(5_000);
  assert.deepEqual(times, [1_000]);
});

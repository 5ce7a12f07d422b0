import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { CoreEvent } from "../../api/generated/types.ts";
import { messageOf } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { Broadcaster, type BroadcasterOptions } from "./broadcaster.ts";

const OPTIONS: BroadcasterOptions = { inboundLimit: 1000, watcherLimit: 1000, reservesLane: false };

function world(options: Partial<BroadcasterOptions> = {}) {
  const clock = new SimClock();
  const missed: string[] = [];
  const problems: unknown[] = [];
  const broadcaster = new Broadcaster(
    { ...OPTIONS, ...options },
    {
      clock,
      log: { ...silentLog, error: (_, fields) => problems.push(messageOf(fields?.["error"])) },
      onMissed: (watcher, event) => missed.push(`${watcher} ${event.message}`),
    },
  );
  return { clock, broadcaster, missed, problems };
}

function event(message: string, reason = "Unhealthy"): CoreEvent {
  return { metadata: { name: message }, involvedObject: {}, reason, message };
}

function collect() {
  const seen: string[] = [];
  return { seen, handler: ({ message = "" }: CoreEvent) => void seen.push(message) };
}

/** A handler that ends a call only when `release` is called. */
function slow() {
  const seen: string[] = [];
  const ends: (() => void)[] = [];
  const handler = ({ message = "" }: CoreEvent) => {
    seen.push(message);
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  return { seen, handler, next: () => ends.shift()?.() };
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `${from + i}`);

test("publish: every watcher gets every event, in order, and not in the caller's turn", async () => {
  const { broadcaster, clock } = world();
  const [a, b] = [collect(), collect()];
  broadcaster.watch("a", a.handler);
  broadcaster.watch("b", b.handler);
  for (const n of numbers(0, 900)) assert.equal(broadcaster.publish(event(n)), "queued");
  assert.deepEqual(a.seen, []);
  assert.equal(broadcaster.waiting, 900);
  await clock.advance(1);
  assert.deepEqual(a.seen, numbers(0, 900));
  assert.deepEqual(b.seen, numbers(0, 900));
});

test("watch: what was published before is not seen, even if it was not handed out yet", async () => {
  const { broadcaster, clock } = world();
  const [early, late] = [collect(), collect()];
  broadcaster.watch("early", early.handler);
  broadcaster.publish(event("0"));
  const leave = broadcaster.watch("late", late.handler);
  broadcaster.publish(event("1"));
  await clock.advance(1);
  assert.deepEqual(early.seen, ["0", "1"]);
  assert.deepEqual(late.seen, ["1"]);
  broadcaster.publish(event("2"));
  leave();
  await clock.advance(1);
  assert.deepEqual(late.seen, ["1"]);
  assert.deepEqual(early.seen, ["0", "1", "2"]);
});

test("publish: a full queue drops the event, and returns that", async () => {
  const { broadcaster, clock } = world({ inboundLimit: 3 });
  const { seen, handler } = collect();
  broadcaster.watch("a", handler);
  const reported = numbers(0, 5).map((n) => broadcaster.publish(event(n)));
  assert.deepEqual(reported, ["queued", "queued", "queued", "full", "full"]);
  await clock.advance(1);
  assert.deepEqual(seen, ["0", "1", "2"]);
  assert.equal(broadcaster.publish(event("5")), "queued");
});

test("publish: the end of the queue is kept for steps of life", () => {
  const { broadcaster } = world({ inboundLimit: 16, reservesLane: true });
  const noise = numbers(0, 20).map((n) => broadcaster.publish(event(n)));
  assert.equal(noise.filter((result) => result === "queued").length, 14);
  assert.equal(broadcaster.publish(event("a", "Started")), "queued");
  assert.equal(broadcaster.publish(event("b", "Killing")), "queued");
  assert.equal(broadcaster.publish(event("c", "Killing")), "full");
});

test("watch: a slow watcher loses what does not fit its queue, the others lose nothing", async () => {
  const { broadcaster, clock, missed } = world({ watcherLimit: 2 });
  const [quick, late] = [collect(), slow()];
  broadcaster.watch("late", late.handler);
  broadcaster.watch("quick", quick.handler);
  for (const n of numbers(0, 5)) broadcaster.publish(event(n));
  await clock.advance(1);
  assert.deepEqual(quick.seen, numbers(0, 5));
  assert.deepEqual(late.seen, ["0"]);
  assert.deepEqual(missed, ["late 3", "late 4"]);
  for (let i = 0; i < 3; i += 1) {
    late.next();
    await clock.advance(1);
  }
  assert.deepEqual(late.seen, ["0", "1", "2"]);
  broadcaster.publish(event("5"));
  await clock.advance(1);
  assert.deepEqual(late.seen, ["0", "1", "2", "5"]);
});

test("watch: a watcher that throws or rejects goes on, and so do the others", async () => {
  const { broadcaster, clock, problems } = world();
  const { seen, handler } = collect();
  let calls = 0;
  broadcaster.watch("throws", () => {
    calls += 1;
    throw new Error("thrown");
  });
  broadcaster.watch("rejects", async () => {
    throw new Error("rejected");
  });
  broadcaster.watch("fine", handler);
  for (const n of numbers(0, 3)) broadcaster.publish(event(n));
  await clock.advance(1);
  assert.deepEqual(seen, numbers(0, 3));
  assert.equal(calls, 3);
  assert.deepEqual(problems.toSorted(), [...Array(3).fill("rejected"), ...Array(3).fill("thrown")]);
});

test("close: hands out what waits, waits for the watchers, and takes no more", async () => {
  const { broadcaster, clock } = world();
  const [quick, late] = [collect(), slow()];
  broadcaster.watch("late", late.handler);
  broadcaster.watch("quick", quick.handler);
  for (const n of numbers(0, 900)) broadcaster.publish(event(n));
  let closed = false;
  const closing = broadcaster.close().then(() => {
    closed = true;
  });
  assert.deepEqual(quick.seen, numbers(0, 900));
  assert.equal(broadcaster.publish(event("late")), "closed");
  for (let i = 0; i < 899; i += 1) {
    late.next();
    await clock.settle();
  }
  assert.equal(closed, false);
  late.next();
  await clock.settle();
  assert.equal(closed, true);
  assert.deepEqual(late.seen, numbers(0, 900));
  await closing;
});

test("close: a watcher that never ends is left behind", async () => {
  const { broadcaster, clock } = world();
  broadcaster.watch("never", () => new Promise(() => {}));
  broadcaster.publish(event("0"));
  await clock.settle();
  const closing = broadcaster.close();
  assert.equal(
    await Promise.race([closing.then(() => "closed"), clock.settle().then(() => "no")]),
    "no",
  );
  await clock.advance(5_000);
  await closing;
  assert.equal(clock.pending, 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CoreEvent } from "../../api/generated/types.ts";
import { Outbox, type OutboxEntry } from "./outbox.ts";

interface AddedEvent {
  readonly about?: string;
  readonly reason?: string;
  readonly type?: "Normal" | "Warning";
  /** Above 1: a patch of the event of that name. */
  readonly count?: number;
  readonly message?: string;
  /** Default 0. */
  readonly since?: number;
}

function box(maxEvents = 100, maxBytes = 1e9) {
  const outbox = new Outbox({ maxEvents, maxBytes });
  const add = ({
    about = "a",
    reason = "Unhealthy",
    type = "Warning",
    count = 1,
    message = "m",
    since = 0,
  }: AddedEvent) => {
    const event: CoreEvent = {
      metadata: { namespace: "ns", name: `${about}-${reason}` },
      involvedObject: { kind: "Pod", name: about },
      type,
      reason,
      message,
      count,
    };
    const patch = count > 1 ? { count } : undefined;
    return outbox.add({ event, patch, since });
  };
  return { outbox, add };
}

const label = ({ event, patch }: OutboxEntry) =>
  `${event.involvedObject.name} ${event.reason}${patch ? ` ${patch.count}` : ""}`;

function drain(outbox: Outbox): string[] {
  outbox.release(Number.POSITIVE_INFINITY, 0);
  return leaving(outbox);
}

/** What leaves without what is deferred. */
function leaving(outbox: Outbox): string[] {
  const taken: string[] = [];
  for (let entry = outbox.take(); entry; entry = outbox.take()) {
    taken.push(label(entry));
    outbox.settle(entry, true);
  }
  return taken;
}

test("take: in order; steps of life first, with what waits about the same object before them", () => {
  const { outbox, add } = box();
  add({ about: "a", reason: "Unhealthy" });
  add({ about: "b", reason: "FailedMount" });
  add({ about: "c", reason: "Started" });
  add({ about: "b", reason: "Killing" });
  add({ about: "b", reason: "Failed" });
  assert.deepEqual(drain(outbox), [
    "b FailedMount",
    "c Started",
    "b Killing",
    "a Unhealthy",
    "b Failed",
  ]);
});

test("settle: what failed stays where it was, and what is about the same object waits behind it", () => {
  const { outbox, add } = box();
  add({ about: "a", reason: "Unhealthy" });
  const first = outbox.take();
  assert.ok(first);
  add({ about: "a", reason: "Killing" });
  add({ about: "b", reason: "Started" });
  outbox.settle(first, false);
  assert.deepEqual(drain(outbox), ["a Unhealthy", "a Killing", "b Started"]);
});

test("add: a count takes the place of an earlier one, not of the event itself, nor of one under way", () => {
  const { outbox, add } = box();
  add({ count: 1 });
  assert.equal(add({ count: 2 }).superseded, undefined);
  add({ about: "b", count: 1 });
  const third = add({ count: 3 });
  assert.equal(third.superseded && label(third.superseded), "a Unhealthy 2");
  assert.equal(outbox.size, 3);
  for (let i = 0; i < 2; i += 1) outbox.settle(outbox.take() as OutboxEntry, true);
  const underWay = outbox.take();
  assert.equal(underWay && label(underWay), "a Unhealthy 3");
  assert.equal(add({ count: 4 }).superseded, undefined);
  const fifth = add({ count: 5 });
  assert.equal(fifth.superseded && label(fifth.superseded), "a Unhealthy 4");
  outbox.settle(underWay as OutboxEntry, true);
  assert.deepEqual(drain(outbox), ["a Unhealthy 5"]);
});

test("add: when full the lowest priority is dropped, oldest first, and never what is in flight", () => {
  const { outbox, add } = box(5);
  add({ about: "started", reason: "Started" });
  add({ about: "counted", count: 2 });
  add({ about: "normal", type: "Normal", reason: "Other" });
  add({ about: "w1" });
  add({ about: "w2" });
  const goes = (added: AddedEvent) => add(added).dropped.map(label);
  assert.deepEqual(goes({ about: "w3" }), ["counted Unhealthy 2"]);
  assert.deepEqual(goes({ about: "w4" }), ["normal Other"]);
  assert.deepEqual(goes({ about: "k", reason: "Killing" }), ["w1 Unhealthy"]);
  assert.deepEqual(goes({ about: "late", count: 9 }), ["late Unhealthy 9"]);
  for (const about of ["x", "y", "z"]) goes({ about, reason: "Created" });
  outbox.release(0, 0);
  const underWay = outbox.take();
  assert.equal(underWay && label(underWay), "started Started");
  assert.deepEqual(goes({ about: "q", reason: "Created" }), ["k Killing"]);
  assert.equal(outbox.size, 5);
});

test("release: steps of a start wait for it, those that came by then, with what waits about the same object", () => {
  const { outbox, add } = box();
  add({ about: "a", reason: "Unhealthy", since: 1 });
  add({ about: "a", reason: "Started", since: 2 });
  add({ about: "b", reason: "Pulled", since: 3 });
  add({ about: "b", reason: "Created", since: 5 });
  add({ about: "c", reason: "Started", since: 6 });
  assert.equal(outbox.deferredSince, 2);
  assert.equal(outbox.release(1, 10), false);
  assert.equal(outbox.release(3, 10), true);
  assert.equal(outbox.deferredSince, 6);
  // The oldest of an object takes the later ones along.
  assert.deepEqual(leaving(outbox), ["a Unhealthy", "a Started", "b Pulled", "b Created"]);
  assert.deepEqual(drain(outbox), ["c Started"]);
  assert.equal(outbox.deferredSince, undefined);
});

test("add: all else about the object ends the wait of its steps of a start", () => {
  const { outbox, add } = box();
  for (const about of ["a", "b", "c"]) add({ about, reason: "Created", since: 1 });
  add({ about: "a", reason: "Unhealthy", since: 2 });
  add({ about: "b", reason: "Killing", since: 3 });
  assert.deepEqual(
    [...outbox.entries()].map(({ since, deferred }) => [since, deferred]),
    [
      [2, false],
      [3, false],
      [1, true],
      [2, false],
      [3, false],
    ],
  );
  assert.deepEqual(leaving(outbox), ["a Created", "b Created", "b Killing", "a Unhealthy"]);
  // A count of an event that is on the server: it is a container that starts again and again.
  add({ about: "c", reason: "Started", count: 2 });
  assert.deepEqual(leaving(outbox), ["c Created", "c Started 2"]);
});

test("add: what a previous run left on disk is not deferred", () => {
  const { outbox } = box();
  const event: CoreEvent = {
    metadata: { namespace: "ns", name: "a-Started" },
    involvedObject: { kind: "Pod", name: "a" },
    type: "Normal",
    reason: "Started",
  };
  outbox.add({ event, patch: undefined, since: 0, spooled: true });
  assert.deepEqual(leaving(outbox), ["a Started"]);
});

const added = fc.record({
  about: fc.constantFrom("a", "b", "c", "d"),
  reason: fc.constantFrom("Unhealthy", "Failed", "Started", "Killing"),
  type: fc.constantFrom("Normal" as const, "Warning" as const),
  count: fc.integer({ min: 1, max: 4 }),
  message: fc.integer({ min: 0, max: 500 }).map((n) => "x".repeat(n)),
});
const turn = fc.oneof(
  { weight: 3, arbitrary: added.map((event) => ({ kind: "add" as const, event })) },
  { weight: 1, arbitrary: fc.constant({ kind: "take" as const }) },
  { weight: 1, arbitrary: fc.nat(200).map((until) => ({ kind: "release" as const, until })) },
  { weight: 1, arbitrary: fc.boolean().map((done) => ({ kind: "settle" as const, done })) },
);

test("whatever happens: bounds hold, nothing is lost unsaid, order per object is kept", () => {
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 200 }), (turns) => {
      const { outbox, add } = box(12, 12_000);
      let added = 0;
      let gone = 0;
      let underWay: OutboxEntry | undefined;
      const last = new Map<string, number>();
      for (const each of turns) {
        if (each.kind === "add") {
          added += 1;
          const { superseded, dropped } = add({ ...each.event, since: added });
          gone += dropped.length + (superseded ? 1 : 0);
          assert.ok(
            (!dropped.includes(underWay as OutboxEntry) && superseded !== underWay) || !underWay,
          );
        } else if (each.kind === "take") underWay = outbox.take();
        else if (each.kind === "release") outbox.release(each.until, added);
        else if (underWay) {
          outbox.settle(underWay, each.done);
          const about = underWay.event.involvedObject.name ?? "";
          assert.ok(underWay.order >= (last.get(about) ?? 0));
          last.set(about, underWay.order);
          if (each.done) gone += 1;
          underWay = undefined;
        }
        assert.ok(outbox.size <= 12);
        assert.equal([...outbox.entries()].length, outbox.size);
        const bytes = [...outbox.entries()].map(({ event }) => 700 + (event.message?.length ?? 0));
        assert.ok(bytes.reduce((sum, n) => sum + n, 0) <= 12_000 || outbox.size === 1);
        assert.equal(added, gone + outbox.size);
      }
      assert.equal(drain(outbox).length, added - gone);
    }),
  );
});

test("counts that supersede each other behind an event that cannot be sent take no memory", () => {
  const { outbox, add } = box();
  add({ reason: "Killing", about: "first" });
  outbox.take();
  for (let count = 2; count < 10_000; count += 1) add({ reason: "Started", count });
  assert.equal(outbox.size, 2);
  assert.ok(outbox.retained < 100, `${outbox.retained} are retained`);
  assert.deepEqual(drain(outbox), ["first Killing", "a Started 9999"]);
});

test("releaseOldest: what is deferred about one object, oldest first", () => {
  const { outbox, add } = box();
  for (const about of ["a", "b"])
    for (const reason of ["Created", "Started"]) add({ about, reason, type: "Normal" });
  assert.equal(outbox.due, 0);
  outbox.releaseOldest(5);
  assert.equal(outbox.due, 2);
  assert.deepEqual(leaving(outbox), ["a Created", "a Started"]);
  outbox.releaseOldest(5);
  assert.deepEqual(leaving(outbox), ["b Created", "b Started"]);
  outbox.releaseOldest(5);
  assert.deepEqual(leaving(outbox), []);
});

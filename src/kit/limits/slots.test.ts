import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { firstCome, type HeldSlot, roundRobin, type SlotOrder, Slots } from "./slots.ts";

const never = new AbortController().signal;
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Work that lasts until it is asked to end. */
function holdable(slots: Slots, log: string[], group: string, signal = never) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let slot: HeldSlot | undefined;
  const done = slots.run(group, signal, async (held) => {
    slot = held;
    log.push(group);
    await promise;
  });
  return { done, end: resolve, lend: () => slot?.lend() };
}

const ORDERS: readonly (readonly [string, SlotOrder, readonly string[]])[] = [
  ["roundRobin serves groups in turn", roundRobin, ["a", "a", "b", "c", "a", "b", "a"]],
  ["firstCome serves callers in turn", firstCome, ["a", "a", "a", "b", "c", "a", "b"]],
  [
    "an order by name serves one group first",
    (a, b) => a.name > b.name,
    ["a", "c", "b", "b", "a", "a", "a"],
  ],
];

for (const [name, order, expected] of ORDERS)
  test(`Slots: ${name}`, async () => {
    const slots = new Slots({ total: 1, perGroup: 1, order });
    const log: string[] = [];
    const work = ["a", "a", "a", "b", "c", "a", "b"].map((group) => holdable(slots, log, group));
    for (const { done, end } of work) {
      end();
      void done;
    }
    await Promise.all(work.map(({ done }) => done));
    assert.deepEqual(log, expected);
    assert.equal(slots.held, 0);
  });

test("Slots: an order by what groups hold serves the one that has least", async () => {
  const slots = new Slots({ total: 3, order: (a, b) => a.held < b.held });
  const log: string[] = [];
  const running = ["a", "a", "b"].map((group) => holdable(slots, log, group));
  const waiting = ["a", "b", "c"].map((group) => holdable(slots, log, group));
  for (const { end, done } of [...running, ...waiting]) {
    end();
    await done;
    await settle();
  }
  assert.deepEqual(log, ["a", "a", "b", "c", "a", "b"]);
});

test("Slots: others have slots when one group's work hangs", async () => {
  const slots = new Slots({ total: 3, perGroup: 2, order: roundRobin });
  const log: string[] = [];
  const hanging = [1, 2, 3].map(() => holdable(slots, log, "hangs"));
  const other = [holdable(slots, log, "other"), holdable(slots, log, "other")];
  await settle();
  assert.deepEqual(log, ["hangs", "hangs", "other"]);
  assert.deepEqual([slots.held, slots.waiting], [3, 2]);
  other[0]?.end();
  await settle();
  assert.deepEqual(log, ["hangs", "hangs", "other", "other"]);
  for (const { end } of [...hanging, ...other]) end();
  await Promise.all([...hanging, ...other].map(({ done }) => done));
  assert.deepEqual([slots.held, slots.waiting], [0, 0]);
});

test("Slots: one that is lent serves the next, and is given back once", async () => {
  const slots = new Slots({ total: 1 });
  const log: string[] = [];
  const slow = holdable(slots, log, "a");
  const next = holdable(slots, log, "a");
  const last = holdable(slots, log, "a");
  await settle();
  slow.lend();
  slow.lend();
  await settle();
  assert.deepEqual([log.length, slots.held, slots.waiting], [2, 1, 1]);
  slow.end();
  await slow.done;
  assert.deepEqual([slots.held, slots.waiting], [1, 1]);
  next.end();
  last.end();
  await Promise.all([next.done, last.done]);
  assert.equal(slots.held, 0);
});

test("Slots: gives a slot back when work throws, and forgets who leaves", async () => {
  const slots = new Slots({ total: 1 });
  await assert.rejects(
    slots.run("a", never, () => Promise.reject(new Error("broken"))),
    /broken/,
  );
  const log: string[] = [];
  const first = holdable(slots, log, "a");
  const stop = new AbortController();
  const leaver = holdable(slots, log, "b", stop.signal);
  const last = holdable(slots, log, "c");
  stop.abort(new Error("enough"));
  await assert.rejects(leaver.done, /enough/);
  await assert.rejects(holdable(slots, log, "b", stop.signal).done, /enough/);
  first.end();
  last.end();
  await Promise.all([first.done, last.done]);
  assert.deepEqual(log, ["a", "c"]);
  assert.deepEqual([slots.held, slots.waiting], [0, 0]);
});

test("Slots: who leaves as the slot is granted does not begin", async () => {
  const slots = new Slots({ total: 1 });
  const log: string[] = [];
  const stop = new AbortController();
  const first = holdable(slots, log, "a");
  const leaver = holdable(slots, log, "b", stop.signal);
  const last = holdable(slots, log, "c");
  await settle();
  first.lend();
  stop.abort(new Error("enough"));
  await assert.rejects(leaver.done, /enough/);
  first.end();
  last.end();
  await Promise.all([first.done, last.done]);
  assert.deepEqual(log, ["a", "c"]);
  assert.deepEqual([slots.held, slots.waiting], [0, 0]);
});

test("Slots: untilIdle resolves when nothing is held and nobody waits", async () => {
  const slots = new Slots({ total: 1 });
  await slots.untilIdle();
  const log: string[] = [];
  const work = ["a", "b"].map((group) => holdable(slots, log, group));
  let isIdle = false;
  void slots.untilIdle().then(() => {
    isIdle = true;
  });
  work[0]?.end();
  await settle();
  assert.equal(isIdle, false);
  work[1]?.end();
  await settle();
  assert.equal(isIdle, true);
});

test("Slots: never exceeds its limits, and everybody is served", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat(3)), { maxLength: 30 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 3 }),
      fc.constantFrom(roundRobin, firstCome),
      async (asks, total, perGroup, order) => {
        const slots = new Slots({ total, perGroup, order });
        const held = new Map<string, number>();
        let served = 0;
        await Promise.all(
          asks.map(([group, turns]) =>
            slots.run(group, never, async () => {
              held.set(group, (held.get(group) ?? 0) + 1);
              const all = [...held.values()].reduce((a, b) => a + b, 0);
              assert.ok(all <= total && (held.get(group) ?? 0) <= perGroup);
              for (let i = 0; i < turns; i += 1) await settle();
              held.set(group, (held.get(group) ?? 0) - 1);
              served += 1;
            }),
          ),
        );
        assert.equal(served, asks.length);
        assert.deepEqual([slots.held, slots.waiting], [0, 0]);
      },
    ),
    { numRuns: 50 },
  );
});

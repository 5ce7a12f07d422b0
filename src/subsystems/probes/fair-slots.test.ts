import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FairSlots } from "./fair-slots.ts";

const never = new AbortController().signal;
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Work that lasts until it is told to end. */
function holdable(slots: FairSlots, log: string[], owner: string, signal = never) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = slots.run(owner, signal, async () => {
    log.push(owner);
    await promise;
  });
  return { done, end: resolve };
}

test("FairSlots serves owners in turn, however many each asks for", async () => {
  const slots = new FairSlots({ total: 1, perOwner: 1 });
  const log: string[] = [];
  const work = ["a", "a", "a", "b", "c", "a", "b"].map((owner) => holdable(slots, log, owner));
  for (const { done, end } of work) {
    end();
    void done;
  }
  await Promise.all(work.map(({ done }) => done));
  assert.deepEqual(log, ["a", "a", "b", "c", "a", "b", "a"]);
  assert.equal(slots.held, 0);
});

test("FairSlots leaves room for others when one owner's work hangs", async () => {
  const slots = new FairSlots({ total: 3, perOwner: 2 });
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

test("FairSlots gives a slot back when work throws, and forgets who leaves", async () => {
  const slots = new FairSlots({ total: 1, perOwner: 1 });
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

test("FairSlots never exceeds its limits, and everybody is served", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat(3)), { maxLength: 30 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 3 }),
      async (asks, total, perOwner) => {
        const slots = new FairSlots({ total, perOwner });
        const held = new Map<string, number>();
        let served = 0;
        await Promise.all(
          asks.map(([owner, turns]) =>
            slots.run(owner, never, async () => {
              held.set(owner, (held.get(owner) ?? 0) + 1);
              const all = [...held.values()].reduce((a, b) => a + b, 0);
              assert.ok(all <= total && (held.get(owner) ?? 0) <= perOwner);
              for (let i = 0; i < turns; i += 1) await settle();
              held.set(owner, (held.get(owner) ?? 0) - 1);
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

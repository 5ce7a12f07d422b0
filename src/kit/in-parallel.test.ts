import assert from "node:assert/strict";
import { test } from "node:test";
import { allValues, doneValues, inParallel } from "./in-parallel.ts";

test("inParallel works on no more than width items at once and keeps their order", async () => {
  let running = 0;
  let most = 0;
  const outcomes = await inParallel([5, 1, 4, 2, 3], 2, async (item) => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn < item; turn += 1) await Promise.resolve();
    running -= 1;
    return item * 10;
  });
  assert.equal(most, 2);
  assert.deepEqual(doneValues(outcomes), [50, 10, 40, 20, 30]);
});

test("inParallel lets one item fail alone, whether it throws or rejects", async () => {
  const bad = new Error("this one");
  const outcomes = await inParallel(["a", "throws", "rejects", "b"], 2, (item) => {
    if (item === "throws") throw bad;
    return item === "rejects" ? Promise.reject(bad) : Promise.resolve(item);
  });
  assert.deepEqual(outcomes, [
    { kind: "done", value: "a" },
    { kind: "failed", error: bad },
    { kind: "failed", error: bad },
    { kind: "done", value: "b" },
  ]);
});

test("allValues throws the first failure, in the order of the items", async () => {
  const fail = (item: number) =>
    item > 1 ? Promise.reject(new Error(`${item}`)) : Promise.resolve(item);
  assert.deepEqual(allValues(await inParallel([0, 1], 2, fail)), [0, 1]);
  const outcomes = await inParallel([0, 2, 3], 3, fail);
  assert.throws(() => allValues(outcomes), /^Error: 2$/);
});

test("inParallel goes on beside an item that hangs", async () => {
  const done: number[] = [];
  let release = () => {};
  const hanging = new Promise<void>((resolve) => {
    release = resolve;
  });
  const all = inParallel([0, 1, 2, 3], 2, async (item) => {
    if (item === 0) await hanging;
    done.push(item);
  });
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  assert.deepEqual(done, [1, 2, 3]);
  release();
  await all;
});

test("inParallel of nothing, and with a width that makes no sense, ends", async () => {
  assert.deepEqual(await inParallel([], 4, () => Promise.resolve(1)), []);
  assert.deepEqual(doneValues(await inParallel([7], 0, (item) => Promise.resolve(item))), [7]);
});

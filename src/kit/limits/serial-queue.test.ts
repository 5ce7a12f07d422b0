import assert from "node:assert/strict";
import { test } from "node:test";
import { SerialQueue } from "./serial-queue.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("SerialQueue: one after the other in the order of the calls, each with its own result", async () => {
  const queue = new SerialQueue();
  const log: string[] = [];
  const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const runs = gates.map((gate, i) =>
    queue.run(async () => {
      log.push(`begin ${i}`);
      await gate.promise;
      log.push(`end ${i}`);
      return i;
    }),
  );
  await settle();
  assert.deepEqual(log, ["begin 0"]);
  // The second one's gate opens first: it still waits.
  gates[1]?.resolve();
  await settle();
  assert.deepEqual(log, ["begin 0"]);
  gates[0]?.resolve();
  await settle();
  assert.deepEqual(log, ["begin 0", "end 0", "begin 1", "end 1", "begin 2"]);
  gates[2]?.resolve();
  assert.deepEqual(await Promise.all(runs), [0, 1, 2]);
});

test("SerialQueue: a failure rejects its own caller only, whether thrown at once or later", async () => {
  const queue = new SerialQueue();
  const thrown = queue.run(() => {
    throw new Error("at once");
  });
  const rejected = queue.run(() => Promise.reject(new Error("later")));
  const after = queue.run(() => "done");
  await assert.rejects(thrown, /at once/);
  await assert.rejects(rejected, /later/);
  assert.equal(await after, "done");
});

test("SerialQueue: is busy until the last work has ended", async () => {
  const queue = new SerialQueue();
  assert.equal(queue.isBusy, false);
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = queue.run(() => promise);
  const second = queue.run(() => Promise.reject(new Error("broken")));
  assert.equal(queue.isBusy, true);
  resolve();
  await first;
  assert.equal(queue.isBusy, true);
  await assert.rejects(second, /broken/);
  await settle();
  assert.equal(queue.isBusy, false);
});

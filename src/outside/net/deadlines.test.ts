import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { deadline } from "./deadlines.ts";

test("deadline comes once its time is over, never before, and not when it was taken back", async () => {
  const began = performance.now();
  const came: string[] = [];
  const late = (name: string, lengthMs: number) =>
    deadline(lengthMs, () => {
      assert.ok(performance.now() - began >= lengthMs, name);
      came.push(name);
    });
  late("first", 40);
  const cancelSecond = late("second", 40);
  late("short", 20);
  late("third", 40);
  late("endless", 2 ** 40)();
  const cancelAll = Array.from({ length: 200 }, (_, i) => late(`other ${i}`, 1000 + i));
  cancelSecond();
  cancelSecond();
  await sleep(100);
  for (const cancel of cancelAll) cancel();
  assert.deepEqual(came, ["short", "first", "third"]);
});

test("deadline may be set and taken back while another comes", async () => {
  const came: string[] = [];
  await new Promise<void>((resolve) => {
    deadline(10, () => {
      came.push("one");
      cancelTwo();
      deadline(10, () => {
        came.push("three");
        resolve();
      });
    });
    const cancelTwo = deadline(10, () => came.push("two"));
    // A deadline keeps no process alive.
    void sleep(200);
  });
  assert.deepEqual(came, ["one", "three"]);
});

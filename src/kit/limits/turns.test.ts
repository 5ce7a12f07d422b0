import assert from "node:assert/strict";
import { test } from "node:test";
import { Turns } from "./turns.ts";

test("Turns: one after the other for a name, side by side for two, a failure stops nobody", async () => {
  const turns = new Turns();
  const called: string[] = [];
  const gates = new Map<string, () => void>();
  const work = (name: string, fails = false) =>
    new Promise<void>((resolve, reject) => {
      called.push(name);
      gates.set(name, () => (fails ? reject(new Error(name)) : resolve()));
    });
  const first = turns.take("a", () => work("a1", true));
  const second = turns.take("a", async () => {
    await work("a2");
    return "done";
  });
  const other = turns.take("b", () => work("b1"));
  await Promise.resolve();
  assert.deepEqual(called, ["a1", "b1"]);
  assert.ok(turns.isTaken("a"));
  gates.get("a1")?.();
  await assert.rejects(first, /a1/);
  await Promise.resolve();
  assert.deepEqual(called, ["a1", "b1", "a2"]);
  gates.get("a2")?.();
  assert.equal(await second, "done");
  gates.get("b1")?.();
  await other;
  await Promise.resolve();
  assert.deepEqual(
    ["a", "b"].map((name) => turns.isTaken(name)),
    [false, false],
  );
});

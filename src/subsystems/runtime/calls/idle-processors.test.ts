import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { IdleProcessors } from "./idle-processors.ts";

for (const [what, before, after, expected] of [
  ["half of two", "cpu  100 0 0 50 0 0 0 0 0 0", "cpu  150 0 0 100 0 0 0 0 0 0", 1],
  ["all that wait for disks", "cpu  9 0 9 0 10 0 0 0 0 0", "cpu  9 0 9 0 30 0 0 0 0 0", 2],
  ["none of a machine whose time is stolen", "cpu  1 1 1 5 0 0 0 0", "cpu  1 1 1 5 0 0 0 99", 0],
  [
    "guests, which count as user time already",
    "cpu  0 0 0 0 0 0 0 0 0 0",
    "cpu  5 0 0 5 0 0 0 0 5 0",
    1,
  ],
  ["none when the count went back", "cpu  1 0 0 50 0 0 0 0", "cpu  9 0 0 49 0 0 0 0", 0],
  ["none when nothing passed", "cpu  1 0 0 50 0 0 0 0", "cpu  1 0 0 50 0 0 0 0", 0],
  ["none when the file is not there any more", "cpu  1 0 0 50 0 0 0 0", undefined, 0],
  ["none when the file is another one", "intr 1", "cpu  1 0 0 50 0 0 0 0", 0],
] as const)
  test(`IdleProcessors: ${what}`, () => {
    const texts = [before, after];
    const processors = new IdleProcessors(() => texts.shift(), 2);
    assert.equal(processors.idleSinceLast(), 0);
    assert.equal(processors.idleSinceLast(), expected);
  });

test("IdleProcessors reads what the kernel of this machine writes", () => {
  const text = readFileSync("/proc/stat", "utf8");
  const columns = (/^cpu +(.*)$/m.exec(text)?.[1] ?? "").split(" ");
  const later = columns.map(
    (ticks, index) => Number(ticks) + (index === 3 ? 300 : index < 1 ? 100 : 0),
  );
  const texts = [text, text.replace(/^cpu .*$/m, `cpu  ${later.join(" ")}`)];
  const processors = new IdleProcessors(() => texts.shift(), 4);
  assert.equal(processors.idleSinceLast(), 0);
  assert.equal(processors.idleSinceLast(), 3);
});

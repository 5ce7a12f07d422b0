import assert from "node:assert/strict";
import { test } from "node:test";
import { closeTests } from "./changed.mjs";

const IMPORTS = new Map([
  ["src/thing/inner.ts", []],
  ["src/thing/thing.ts", ["src/thing/inner.ts"]],
  ["src/other/other.ts", ["src/thing/inner.ts"]],
  ["src/thing/inner.test.ts", ["src/thing/inner.ts"]],
  ["test/thing.test.ts", ["src/thing/thing.ts"]],
  ["test/world.ts", ["src/other/other.ts"]],
  ["test/other.test.ts", ["test/world.ts"]],
  ["test/lone.test.ts", []],
]);
const TESTS = [...IMPORTS.keys()].filter((path) => path.endsWith(".test.ts"));

const ROWS: readonly (readonly [string, string, readonly string[]])[] = [
  ["by import, and by the entry beside it", "src/thing/inner.ts", TESTS.slice(0, 2)],
  ["by import through what tests share", "src/other/other.ts", ["test/other.test.ts"]],
  ["which is shared by tests", "test/world.ts", ["test/other.test.ts"]],
  ["which is one itself", "test/lone.test.ts", ["test/lone.test.ts"]],
  ["of which there is none", "docs/library.md", []],
];

for (const [how, changed, expected] of ROWS)
  test(`closeTests: tests close to ${changed}, ${how}`, () => {
    assert.deepEqual(closeTests([changed], TESTS, IMPORTS), expected);
  });

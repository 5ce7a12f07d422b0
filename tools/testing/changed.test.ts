import assert from "node:assert/strict";
import { test } from "node:test";
import { affordableTests, closeTests } from "./changed.mjs";

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

test("affordableTests: all that changed, the nearest of the others", () => {
  const far = Array.from({ length: 20 }, (_, i) => `test/far/${i}.test.ts`);
  const near = ["src/kit/a.test.ts", "src/other/b.test.ts"];
  const shared = ["src/far/c.test.ts", "src/far/d.test.ts"];
  const changed = ["src/kit/a.ts", "test/other/e.test.ts"];
  const tests = [...far, ...near, ...shared, "test/other/e.test.ts"];
  const { run, left } = affordableTests(changed, tests, (path) => shared.includes(path));
  assert.deepEqual(run, [...far.slice(0, 3), near[0], ...shared, "test/other/e.test.ts"]);
  assert.equal(left, 18);
});

test("affordableTests: a long one only when it changed itself", () => {
  const long = "test/server/metrics.test.ts";
  const near = "test/server/routes.test.ts";
  const run = (path: string) => affordableTests([path], [long, near], () => false).run;
  assert.deepEqual(run("test/server/world.ts"), [near]);
  assert.deepEqual(run(long), [long, near]);
});

test("affordableTests: more of those that share a process, but not all", () => {
  const far = Array.from({ length: 100 }, (_, i) => `test/far/${i}.test.ts`);
  const near = "src/kit/a.test.ts";
  const { run, left } = affordableTests(["src/kit/a.ts"], [...far, near], () => true);
  assert.deepEqual(run, [...far.slice(0, 29), near]);
  assert.equal(left, 71);
});

test("affordableTests: without a change there is none", () => {
  assert.deepEqual(
    affordableTests([], [], () => false),
    { run: [], left: 0 },
  );
});

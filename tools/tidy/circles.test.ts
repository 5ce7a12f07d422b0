import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { checkCircles, checkFolderCircles } from "./circles.ts";
import { readSource } from "./source.ts";
import { formatViolation } from "./violation.ts";

const circlesOf = (
  files: Readonly<Record<string, string>>,
  check: typeof checkCircles = checkCircles,
): readonly string[] => {
  const sources = new Map(
    Object.entries(files).map(([path, text]) => [path, readSource(path, text)]),
  );
  return check(sources, (from, specifier) => join(from, "..", specifier)).map(formatViolation);
};

test("checkCircles: a circle is found wherever it is entered, also one of types", () => {
  const files = {
    "src/kit/a.ts": 'import { b } from "./b.ts";',
    "src/kit/b.ts": '\nimport { c } from "./c.ts";',
    "src/kit/c.ts": 'import type { B } from "./b.ts";',
  };
  assert.deepEqual(circlesOf(files), [
    "src/kit/c.ts:1 closes a circle of imports: src/kit/b.ts > src/kit/c.ts > src/kit/b.ts",
  ]);
});

test("checkCircles: two ways to one file are no circle", () => {
  const files = {
    "src/kit/a.ts": 'import { b } from "./b.ts";\nimport { c } from "./c.ts";',
    "src/kit/b.ts": 'import { c } from "./c.ts";',
    "src/kit/c.ts": "",
  };
  assert.deepEqual(circlesOf(files), []);
});

test("checkFolderCircles: parts of a folder import one way, tests left out", () => {
  const files = {
    "src/kit/clock.ts": 'import { sleep } from "./loops/sleep.ts";',
    "src/kit/loops/sleep.ts": "",
    "src/kit/loops/loop.ts": '\nimport type { Clock } from "../clock.ts";',
  };
  assert.deepEqual(circlesOf(files), [], "no circle of files");
  assert.deepEqual(circlesOf(files, checkFolderCircles), [
    "src/kit/loops/loop.ts:2 closes a circle of the parts of a folder: src/kit/clock.ts > src/kit/loops > src/kit/clock.ts",
  ]);
  const { "src/kit/loops/loop.ts": loop, ...others } = files;
  const tested = { ...others, "src/kit/loops/sleep.test.ts": loop };
  assert.deepEqual(circlesOf(tested, checkFolderCircles), []);
});

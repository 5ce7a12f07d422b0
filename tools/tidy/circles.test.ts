import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { checkCircles } from "./circles.ts";
import { readSource } from "./source.ts";
import { formatViolation } from "./violation.ts";

const circlesOf = (files: Readonly<Record<string, string>>): readonly string[] => {
  const sources = new Map(
    Object.entries(files).map(([path, text]) => [path, readSource(path, text)]),
  );
  return checkCircles(sources, (from, specifier) => join(from, "..", specifier)).map(
    formatViolation,
  );
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

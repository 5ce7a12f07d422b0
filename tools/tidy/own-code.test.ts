import assert from "node:assert/strict";
import { test } from "node:test";
import { checkOwnCode, RECORD } from "./own-code.ts";
import { formatViolation } from "./violation.ts";

const lines = (count: number) => "x\n".repeat(count);

test("checkOwnCode: rows that are off by more than a tenth, and paths that are gone", () => {
  const files = new Map([
    ["src/a/one.ts", lines(150)],
    ["src/a/one.test.ts", lines(900)],
    ["src/a/deep/two.ts", lines(50)],
    ["src/ab/three.ts", lines(700)],
    [
      RECORD,
      [
        "| what | where | lines | why |",
        "| --- | --- | --- | --- |",
        "| right | `src/a` | 200 | - |",
        "| nearly | `src/a/one.ts` `src/a/deep/two.ts` | 185 | - |",
        "| grown | `src/a` | 170 | - |",
        "| moved | `src/c.ts` | 100 | - |",
      ].join("\n"),
    ],
  ]);
  assert.deepEqual(checkOwnCode(files).map(formatViolation), [
    `${RECORD}:5 says 170 lines, there are 200`,
    `${RECORD}:6 src/c.ts is not there`,
  ]);
  assert.deepEqual(checkOwnCode(new Map()), []);
});

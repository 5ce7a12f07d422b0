import assert from "node:assert/strict";
import { test } from "node:test";
import { checkReaders } from "./readers.ts";
import { readSource } from "./source.ts";

const ROWS: readonly (readonly [string, Readonly<Record<string, string>>, readonly string[]])[] = [
  ["nobody else", {}, ["turn"]],
  ["another source", { "src/kit/b.ts": 'import { turn } from "./a.ts";' }, []],
  ["a test", { "src/kit/a.test.ts": 'import { turn } from "./a.ts";' }, []],
  ["a script", { "tools/run.mjs": 'import { turn } from "../src/kit/a.ts";' }, []],
  ["a longer name only", { "src/kit/b.ts": "turnsLeft();" }, ["turn"]],
  ["documentation only", { "docs/kit.md": "turn" }, ["turn"]],
];

for (const [who, others, expected] of ROWS)
  test(`readers: an export that is read by ${who}`, () => {
    const files = new Map([["src/kit/a.ts", "export const turn = 1;"], ...Object.entries(others)]);
    const sources = [...files]
      .filter(([path]) => path.endsWith(".ts"))
      .map(([path, text]) => readSource(path, text));
    const found = checkReaders(sources, files).map(({ message }) => message.split(" ")[0]);
    assert.deepEqual(found, expected);
  });

test("readers: the library's exports are for programs that embed it", () => {
  const library = "export interface Agent {}";
  const files = new Map([["src/library.ts", library]]);
  assert.deepEqual(checkReaders([readSource("src/library.ts", library)], files), []);
});

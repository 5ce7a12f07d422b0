import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EQUIVALENTS } from "./equivalents.ts";
import { generateMutants } from "./generate.ts";
import { ROOT } from "./run-mutant.ts";
import { outdatedFiles, readScore } from "./score.ts";
import { CHOSEN_MUTANTS } from "./table.ts";
import { TARGETS } from "./targets.ts";

const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

test("the tests of all targets exist", () => {
  for (const path of [...Object.keys(TARGETS), ...Object.values(TARGETS).flat()])
    assert.ok(existsSync(join(ROOT, path)), path);
});

for (const { without, file, guard } of CHOSEN_MUTANTS)
  test(`the guard that checks ${without} is there once`, () => {
    assert.equal(read(file).split(guard).length - 1, 1, `${file}: ${guard}`);
  });

test("every mutant that is named as equivalent can still be made", () => {
  for (const [file, named] of Object.entries(EQUIVALENTS)) {
    assert.ok(file in TARGETS, `${file} is no target`);
    const shown = new Set(generateMutants(read(file)).map((mutant) => mutant.shown));
    for (const each of Object.keys(named)) assert.ok(shown.has(each), `${file}: ${each}`);
  }
});

test("no target and none of its tests was changed since all its mutants were run", () => {
  const changed = outdatedFiles(readScore());
  assert.deepEqual(changed, [], "npm run mutants -- --changed, then commit score.json");
});

const VECTORS: readonly (readonly [string, readonly string[]])[] = [
  ["const a = b === c;", ["const a = b !== c;"]],
  ["const a: Map<string, B> = b < c;", ["b <= c", "b >= c"]],
  ["const text = 'a === b'; // c === d", []],
  ["if (a) b();", ["if (true) b();", "if (false) b();"]],
  ["const mode = 0o600;", ["const mode = 0o777;"]],
  ["const a = /^ab$/;", ["/ab$/", "/^ab/"]],
  ["  check(a, b);", [";"]],
  [
    'if (!a) throw new Error("b");',
    ["if (a) throw", "if (true)", "if (false)", "if (!a) void new"],
  ],
];

for (const [source, expected] of VECTORS)
  test(`generateMutants: ${source}`, () => {
    const shown = generateMutants(source).map((each) => each.shown.split(" => ").at(-1) ?? "");
    for (const text of expected)
      assert.ok(
        shown.some((each) => each.includes(text)),
        `${text} is not in ${JSON.stringify(shown)}`,
      );
    assert.equal(shown.length, expected.length, JSON.stringify(shown));
  });

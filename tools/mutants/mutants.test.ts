// Takes guards away, one at a time, and expects the tests to notice.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { applied } from "./generate.ts";
import { ROOT, runMutant } from "./run-mutant.ts";
import { CHOSEN_MUTANTS } from "./table.ts";
import { TARGETS } from "./targets.ts";

const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

test("tests pass on a file that is not changed", async () => {
  const [file = "", tests = []] = Object.entries(TARGETS)[0] ?? [];
  assert.deepEqual(await runMutant(tests, { file, text: read(file) }), { kind: "survived" });
});

for (const { without, file, guard, instead, tests = TARGETS[file] ?? [] } of CHOSEN_MUTANTS)
  test(`tests notice when nothing checks ${without}`, async () => {
    const source = read(file);
    const start = source.indexOf(guard);
    assert.ok(start >= 0, `${file} has no ${guard}`);
    assert.equal(source.indexOf(guard, start + 1), -1, `${file} has it twice: ${guard}`);
    const text = applied(source, { start, end: start + guard.length, text: instead });
    assert.equal(
      (await runMutant(tests, { file, text })).kind,
      "killed",
      `nobody noticed: ${file}`,
    );
  });

// docs/PARITY.md holds what it promises: nothing is done without a test, and every test it names is there.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "..");
const lines = readFileSync(join(ROOT, "docs/PARITY.md"), "utf8").split("\n");
const rows = lines
  .filter((line) => /^\| ([A-Z]\d+|–)/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, id = "", feature = "", state = "", tests = ""]) => ({ id, feature, state, tests }));
const files = ["src", "test", "tools"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map(
    (name) => `${folder}/${name}`,
  ),
);

test("PARITY: every row says done, part or no, and done not without a test", () => {
  assert.ok(rows.length > 100);
  for (const { id, state, tests } of rows) {
    assert.match(state, /^(done|part|no)\b/, id);
    if (state.startsWith("done")) assert.match(tests, /`|every test/, `${id} names no test`);
  }
});

test("PARITY: the tests that are named are there", () => {
  for (const { id, tests } of rows)
    for (const [, name = ""] of tests.matchAll(/`([\w/.-]+\.ts)`/g)) {
      const found = files.some((file) => file === name || file.endsWith(`/${name}`));
      assert.ok(found, `${id}: there is no ${name}`);
    }
});

test("PARITY: a feature has one row", () => {
  const ids = rows.flatMap(({ id }) => id.split(", ")).filter((id) => id !== "–");
  assert.deepEqual(
    ids.filter((id, i) => ids.indexOf(id) !== i),
    [],
  );
});

// docs/PARITY.md holds what it promises: nothing is done without a test, and every test it names is there.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { countEffects, FIELDS } from "../src/config/fields/fields.ts";

const ROOT = join(import.meta.dirname, "..");
const lines = readFileSync(join(ROOT, "docs/PARITY.md"), "utf8").split("\n");
const rowsOf = (start: RegExp) =>
  lines
    .filter((line) => start.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map(([, id = "", feature = "", state = "", tests = ""]) => ({ id, feature, state, tests }));
const rows = rowsOf(/^\| ([A-Z]\d+|–)/);
/** Rows of the section about a release: its changes against the one before. */
const changes = rowsOf(/^\| 1\.37-K\d+/);
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

test("PARITY: every change of 1.37 has one row with its state", () => {
  const known = readFileSync(join(ROOT, "tools/testdata/change-ids-1.37.txt"), "utf8");
  assert.deepEqual(
    changes.map(({ id }) => id),
    known
      .trim()
      .split(/\s+/)
      .map((id) => `1.37-${id}`),
  );
  for (const { id, state, tests } of changes) {
    assert.match(state, /^(?:done|part|as before|open$|not done: .)/, id);
    if (state.startsWith("done")) assert.match(tests, /`/, `${id} names no test`);
  }
});

test("PARITY: the tests that are named are there", () => {
  for (const { id, tests } of [...rows, ...changes])
    for (const [, name = ""] of tests.matchAll(/`([\w/.-]+\.ts)`/g)) {
      const found = files.some((file) => file === name || file.endsWith(`/${name}`));
      assert.ok(found, `${id}: there is no ${name}`);
    }
});

/** Ids of the features of the Go kubelet 1.36, a line for each letter. */
const FEATURES = readFileSync(join(ROOT, "tools/testdata/feature-ids-1.36.txt"), "utf8")
  .trim()
  .split(/\s+/);
/** Ours, which no other kubelet has. */
const OWN = ["G13"];

test("PARITY: every feature of the Go kubelet has a row, and there is no row of another", () => {
  assert.equal(FEATURES.length, 302);
  const ids = new Set(rows.flatMap(({ id }) => id.split(", ")).filter((id) => id !== "–"));
  assert.deepEqual(
    FEATURES.filter((id) => !ids.has(id)),
    [],
    "without a row",
  );
  assert.deepEqual(
    [...ids].filter((id) => !FEATURES.includes(id) && !OWN.includes(id)),
    [],
    "not a feature of the Go kubelet",
  );
});

test("PARITY: names of tests in quotes are in the file before them", () => {
  let names = 0;
  for (const { id, tests } of [...rows, ...changes])
    for (const [, file = "", after = ""] of tests.matchAll(/`([\w/.-]+\.ts)`([^`]*)/g)) {
      const texts = files
        .filter((name) => name === file || name.endsWith(`/${file}`))
        .map((name) => readFileSync(join(ROOT, name), "utf8"));
      for (const [, name = ""] of after.matchAll(/"([^"]+)"/g)) {
        names += 1;
        assert.ok(
          texts.some((text) => text.includes(name)),
          `${id}: no test in ${file} is called "${name}"`,
        );
      }
    }
  assert.ok(names > 200, `${names} names are quoted`);
});

test("README: its numbers are those of the tables", () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const countOf = (word: string) =>
    rows
      .filter(({ state }) => state.startsWith(word))
      .flatMap(({ id }) => id.split(", "))
      .filter((id) => FEATURES.includes(id)).length;
  const features = `of ${FEATURES.length}: ${countOf("done")} done, ${countOf("part")} in part`;
  assert.ok(readme.includes(`(${features})`), `README.md must say: ${features}`);
  const effects = countEffects();
  const fields = `of ${FIELDS.length} fields ${effects.active}, and ${effects.inert} have none in any kubelet`;
  assert.ok(readme.includes(`(${fields})`), `README.md must say: ${fields}`);
});

test("PARITY: a feature has one row", () => {
  const ids = rows.flatMap(({ id }) => id.split(", ")).filter((id) => id !== "–");
  assert.deepEqual(
    ids.filter((id, i) => ids.indexOf(id) !== i),
    [],
  );
});

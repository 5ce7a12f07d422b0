// What docs/security.md and docs/faults.md promise is tested by files that exist and are run.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { RUNTIME_VULNERABILITIES } from "../src/process/runtime-versions/vulnerabilities.ts";
import { readTree } from "./tidy/tidy.ts";

const ROOT = join(import.meta.dirname, "..");
const security = readFileSync(join(ROOT, "docs/security.md"), "utf8");
const faults = readFileSync(join(ROOT, "docs/faults.md"), "utf8");
const { files } = readTree(ROOT);

/** Rows of the tables between two marks, as their cells. */
function rowsOf(mark: string, page = security): readonly (readonly string[])[] {
  const [, text = ""] =
    new RegExp(`<!-- begin ${mark} -->(.*)<!-- end ${mark} -->`, "s").exec(page) ?? [];
  return text
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| ---"))
    .map((line) => line.split("|").slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
    .filter((cells) => cells.at(-1) !== "test");
}

const testsOf = (cells: readonly string[]): readonly string[] =>
  [...(cells.at(-1) ?? "").matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path);

test("every row of the threat model names tests that exist", () => {
  const rows = rowsOf("threats");
  assert.ok(rows.length > 20, `${rows.length} rows`);
  for (const cells of rows) {
    assert.ok(testsOf(cells).length > 0, `no test: ${cells[0]}`);
    for (const path of testsOf(cells)) {
      assert.ok(files.has(path), `${path} of "${cells[0]}" does not exist`);
      assert.match(path, /\.(test|it)\.ts$/);
    }
  }
});

test("every past vulnerability is named by the tests that stand for it", () => {
  const rows = rowsOf("vulnerabilities");
  assert.ok(rows.length > 15, `${rows.length} rows`);
  for (const cells of rows) {
    const [name = ""] = cells;
    assert.ok(testsOf(cells).length > 0, `no test: ${name}`);
    for (const path of testsOf(cells))
      for (const each of name.split(", "))
        assert.ok((files.get(path) ?? "").includes(each), `${path} does not name ${each}`);
  }
});

test("every vulnerability of the runtime is known by its version, and named by its tests", () => {
  const rows = rowsOf("runtime vulnerabilities");
  for (const cells of rows) {
    const [name = "", , fixedIn = ""] = cells;
    const known = RUNTIME_VULNERABILITIES.find((each) => each.name === name);
    assert.equal(fixedIn, known && `${known.program} ${known.fixedIn.join(", ")}`, name);
    assert.ok(testsOf(cells).length > 0, `no test: ${name}`);
    for (const path of testsOf(cells))
      assert.ok((files.get(path) ?? "").includes(name), `${path} does not name ${name}`);
  }
  const names = rows.map(([name]) => name).toSorted();
  assert.deepEqual(names, RUNTIME_VULNERABILITIES.map(({ name }) => name).toSorted());
});

test("every fault of the machine has a test in the simulation or on a real node", () => {
  const rows = rowsOf("faults", faults);
  assert.ok(rows.length >= 10, `${rows.length} rows`);
  for (const cells of rows) {
    assert.equal(cells.length, 4, cells.join(" | "));
    const paths = testsOf(cells);
    assert.ok(paths.length > 0, `no test: ${cells[0]}`);
    for (const path of paths) assert.ok(files.has(path), `${path} of "${cells[0]}" does not exist`);
  }
});

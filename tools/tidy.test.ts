// Holds the tree to the rules of CONTRIBUTING.md and modules.json.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { commitSubjects, subjectProblem } from "./tidy/commits.ts";
import { findViolations, readTree } from "./tidy/tidy.ts";
import { formatViolation, type Violation } from "./tidy/violation.ts";

const RULES: Readonly<Record<Violation["rule"], string>> = {
  modules: "imports keep to the modules, entry points, packages and Node modules of modules.json",
  wiring: "modules are made in order: none is bound late, none calls one above it",
  pure: "pure files are pure",
  blocking: "file system and process calls block the thread only where modules.json says why",
  parallel: "work on the elements of a list is started with a bound, each failing alone",
  spreads: "no list of any length is spread into the arguments of a call",
  state: "no module has state: variables and changed collections belong to an object",
  size: "files, folders, functions and parameter lists keep their limits",
  names: "names say what a thing does; no barrels, no default exports",
  twice: "a name that src/ exports means one thing",
  docs: "what src/ exports has a docstring",
  readers: "what src/ exports is read by another file",
  dead: "every file of src/ is used",
  words: "every tracked file uses the terms of the glossary, names no machine, leaves no work open",
  files: "imports lead to files and to declared packages, the record of own code is right",
};

const tree = readTree(join(import.meta.dirname, ".."));
const violations = findViolations(tree);

test("the tree was read", () => {
  assert.ok(tree.files.size > 100 && tree.files.has("src/main.ts"));
});

for (const [rule, promise] of Object.entries(RULES))
  test(promise, () => {
    const broken = violations.filter((each) => each.rule === rule).map(formatViolation);
    if (broken.length > 0) assert.fail(`${broken.length} times not:\n${broken.join("\n")}`);
  });

test("commits say in at most 72 characters what they do", () => {
  const subjects = commitSubjects(join(import.meta.dirname, ".."));
  assert.deepEqual(
    subjects.flatMap((subject) => subjectProblem(subject) ?? []),
    [],
  );
});

test("the changelog has a section for the version of package.json, and one for what is not released", () => {
  const { version } = JSON.parse(tree.files.get("package.json") ?? "{}") as { version?: string };
  const sections = (tree.files.get("CHANGELOG.md") ?? "").match(/^## .*$/gm) ?? [];
  assert.equal(sections[0], "## Unreleased");
  assert.match(sections[1] ?? "", /^## \d+\.\d+\.\d+ - \d{4}-\d\d-\d\d$/);
  assert.equal(sections[1]?.split(" ")[1], version);
});

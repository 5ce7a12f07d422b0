// Which specs a whole run of the tests plays.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseSpecs, partOfSuite } from "./part.ts";
import type { SpecOutcome } from "./results/result.ts";

const spec = (
  file: string,
  name: string,
  seconds: number,
  outcome: SpecOutcome["outcome"] = "passed",
) => ({
  name,
  file,
  outcome,
  seconds,
  message: "",
  began: "",
  ended: "",
  output: "",
});

test("of each file the longest spec that passes in time, and more of a large one", () => {
  const many = Array.from({ length: 60 }, (_, index) =>
    spec("many.go", `many ${index}`, 29 - (index % 30)),
  );
  const chosen = chooseSpecs(
    [
      spec("a.go", "short", 2),
      spec("a.go", "long", 20),
      spec("a.go", "too long", 31),
      spec("a.go", "fails", 25, "failed"),
      spec("a.go", "needs another one", 25),
      spec("b.go", "leaves itself out", 1, "left out"),
      ...many,
    ],
    new Set(["needs another one"]),
  );
  assert.deepEqual(
    chosen.filter(({ file }) => file === "a.go").map(({ name }) => name),
    ["long"],
  );
  assert.deepEqual(
    chosen.filter(({ file }) => file === "b.go"),
    [],
  );
  assert.equal(chosen.filter(({ file }) => file === "many.go").length, 3);
});

test("the list has one spec of about every file", () => {
  const names = partOfSuite();
  assert.ok(names.length > 40, `${names.length} specs`);
  assert.equal(new Set(names).size, names.length);
});

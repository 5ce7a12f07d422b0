import assert from "node:assert/strict";
import { test } from "node:test";
import { checkFolders, MAX_FILES } from "./folders.ts";
import { formatViolation } from "./violation.ts";

/** `count` files directly in a folder. */
const filled = (folder: string, count: number, suffix = ".ts") =>
  Array.from({ length: count }, (_, i) => `${folder}/f${i}${suffix}`);

test("checkFolders: a folder with one file too many is named, whatever its subfolders hold", () => {
  const planted = [
    ...filled("src/full", MAX_FILES),
    ...filled("src/full/below", MAX_FILES),
    ...filled("src/crowded", MAX_FILES + 1),
  ];
  assert.deepEqual(checkFolders(planted).map(formatViolation), [
    "src/crowded has 21 source files, 20 are allowed: group them by topic",
  ]);
});

test("checkFolders: tests, vectors, generated code and other trees do not count", () => {
  const others = [
    ...filled("src/a", MAX_FILES),
    ...filled("src/a", MAX_FILES, ".test.ts"),
    ...filled("src/a", 3, ".vectors.ts"),
    ...filled("src/a", 3, ".md"),
    ...filled("src/a/generated", 30),
    ...filled("src/a/testdata", 30),
    ...filled("test/a", 30),
  ];
  assert.deepEqual(checkFolders(others), []);
});

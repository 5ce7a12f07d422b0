// What failed in the last run, read from the files that runs leave.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { failedInLastRun, partFolder, partsFolder, RESULT } from "./last-run.ts";
import { REPORT } from "./run-suite.ts";

const LINES = ['When("in order", ginkgo.Ordered, func() {', 'It("makes",', 'It("reads",', "})"];
const at = (LineNumber: number) => ({ FileName: "x.go", LineNumber });
const spec = (LeafNodeText: string, line: number) => ({
  LeafNodeType: "It",
  ContainerHierarchyTexts: [],
  ContainerHierarchyLocations: [at(1)],
  LeafNodeText,
  LeafNodeLocation: at(line),
});
const SUITES = JSON.stringify([{ SpecReports: [spec("makes", 2), spec("reads", 3)] }]);

function withFiles(files: (folder: string) => Record<string, string>, use: (f: string) => void) {
  const parent = mkdtempSync(join(tmpdir(), "nodelet-last-run-"));
  const folder = join(parent, "node");
  try {
    for (const [path, text] of Object.entries(files(folder))) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    use(folder);
  } finally {
    rmSync(parent, { recursive: true });
  }
}

const failing = (failed: object) => JSON.stringify({ failed });

for (const { name, reportIn } of [
  { name: "a run", reportIn: (folder: string) => folder },
  { name: "a run in parts", reportIn: (folder: string) => partFolder(partsFolder(folder), 1) },
])
  test(`what failed in ${name} is chosen with the steps before it`, () =>
    withFiles(
      (folder) => ({
        [join(folder, RESULT)]: failing({ reads: "m" }),
        [join(reportIn(folder), REPORT)]: SUITES,
      }),
      (folder) =>
        assert.deepEqual(failedInLastRun(folder, "node", () => LINES).sort(), ["makes", "reads"]),
    ));

test("a group without a run, or in which nothing failed, has nothing to run again", () => {
  const of = (folder: string) => () => failedInLastRun(folder, "node", () => LINES);
  withFiles(
    () => ({}),
    (folder) => assert.throws(of(folder), /--failed: the group node has not run yet/),
  );
  withFiles(
    (folder) => ({ [join(folder, RESULT)]: failing({}) }),
    (folder) => assert.throws(of(folder), /--failed: nothing of node failed/),
  );
});

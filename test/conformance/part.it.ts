// About one spec of each file of Kubernetes' own node suite, on this checkout: what stands in tools/conformance/part.txt.
import assert from "node:assert/strict";
import { test } from "node:test";
import { focusOn } from "../../tools/conformance/options.ts";
import { partOfSuite } from "../../tools/conformance/part.ts";
import { nodeSuiteObstacle, prepareParts, resultsFolder } from "../../tools/conformance/parts.ts";
import { runSuite } from "../../tools/conformance/run-suite.ts";

const PROCS = 10;
const say = (text: string) => process.stderr.write(`node suite: ${text}\n`);

test("specs of every file of the node suite pass", {
  skip: nodeSuiteObstacle() ?? false,
}, async () => {
  // Not in /tmp: the node has its own.
  const folder = resultsFolder("part-nodelet");
  const parts = await prepareParts({ kind: "nodelet" }, say);
  const names = partOfSuite();
  const selection = { focus: focusOn(names), skip: [] };
  const { signal } = new AbortController();
  const outcomes = await runSuite({ parts, selection, procs: PROCS, folder, signal, say });
  const passed = outcomes.filter(({ outcome }) => outcome === "passed");
  assert.deepEqual(
    outcomes
      .filter(({ outcome }) => outcome === "failed")
      .map(({ name, message }) => [name, message]),
    [],
  );
  assert.ok(passed.length >= names.length, `${passed.length} of ${names.length} passed`);
});

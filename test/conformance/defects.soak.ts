// What the part of Kubernetes' node suite that a whole run plays is worth: ten mistakes, one after the other in a copy of
// the agent, of which it has to notice eight. NODELET_DEFECTS="probe,ips" plays only those.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { focusOn } from "../../tools/conformance/options.ts";
import { partOfSuite } from "../../tools/conformance/part.ts";
import { nodeSuiteObstacle, prepareParts, resultsFolder } from "../../tools/conformance/parts.ts";
import { runSuite } from "../../tools/conformance/run-suite.ts";
import { buildWith, DEFECTS, type Defect } from "./defects.ts";

const PROCS = 10;
const UNNOTICED = 2;
const { NODELET_DEFECTS: chosen } = process.env;
const words = chosen?.split(",") ?? DEFECTS.map(({ word }) => word);
const say = (text: string) => process.stderr.write(`defects: ${text}\n`);

/** Specs of the part that notice the defect, until the first one has. */
async function noticing(defect: Defect): Promise<string[]> {
  // Not in /tmp: the node has its own.
  const folder = resultsFolder("defect", defect.word);
  say(`${defect.word}: ${defect.about}`);
  const path = buildWith(defect, join(folder, "../defective-checkout"));
  const parts = await prepareParts({ kind: "path", path }, say);
  const names = partOfSuite();
  const first = names.filter((name) => defect.first.test(name));
  const others = names.filter((name) => !defect.first.test(name));
  for (const some of [first, others].filter(({ length }) => length > 0)) {
    const selection = { focus: focusOn(some), skip: [] };
    const { signal } = new AbortController();
    const pulling = { pullsLater: some === first, toFirstFailure: true };
    const run = { parts, selection, procs: PROCS, folder, signal, say, ...pulling };
    const failed = (await runSuite(run)).filter(({ outcome }) => outcome === "failed");
    for (const { name, message } of failed) say(`${defect.word}: ${name}: ${message}`);
    if (failed.length > 0) return failed.map(({ name }) => name);
  }
  say(`${defect.word}: not noticed`);
  return [];
}

test("of ten mistakes in the agent eight are noticed", {
  skip: nodeSuiteObstacle() ?? false,
}, async () => {
  const unnoticed: string[] = [];
  const defects = DEFECTS.filter(({ word }) => words.includes(word));
  assert.equal(defects.length, words.length, `NODELET_DEFECTS names another than ${words}`);
  for (const defect of defects)
    if ((await noticing(defect)).length === 0) unnoticed.push(defect.about);
  assert.ok(unnoticed.length <= UNNOTICED, `not noticed: ${unnoticed.join("; ")}`);
});

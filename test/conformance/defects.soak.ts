// What the part of Kubernetes' node suite that a whole run plays is worth: ten mistakes, one after the other in a copy of
// the agent, of which it has to notice eight. NODELET_DEFECTS="probe,ips" plays only those.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
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

// Not in /tmp: the node has its own.
const folderOf = ({ word }: Defect) => resultsFolder(`defect-${word}`);
const checkoutOf = (defect: Defect) => `${folderOf(defect)}-checkout`;

/** Specs of the part that notice the defect, until the first one has. */
async function noticing(defect: Defect, path: string): Promise<string[]> {
  const folder = folderOf(defect);
  say(`${defect.word}: ${defect.about}`);
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
  const defects = words.flatMap((word) => DEFECTS.filter((defect) => defect.word === word));
  assert.equal(defects.length, words.length, `NODELET_DEFECTS names another than ${words}`);
  // The next one is built while one is played.
  const build = (defect: Defect) => buildWith(defect, checkoutOf(defect));
  let building: Promise<string> | undefined;
  for (const [index, defect] of defects.entries()) {
    const path = await (building ?? build(defect));
    const next = defects[index + 1];
    building = next && build(next);
    if ((await noticing(defect, path)).length === 0) unnoticed.push(defect.about);
    rmSync(checkoutOf(defect), { recursive: true });
  }
  assert.ok(unnoticed.length <= UNNOTICED, `not noticed: ${unnoticed.join("; ")}`);
});

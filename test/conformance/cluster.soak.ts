// A few specs of Kubernetes' cluster suite on two nodes of this checkout: pods of one node reach those of the other, by
// address, Service, name and node port, and the API server reaches all.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSuiteObstacle, prepareParts, resultsFolder } from "../../tools/conformance/parts.ts";
import { runSuite } from "../../tools/conformance/run-suite.ts";

const PROCS = 4;
const FOCUS = [
  "Networking Granular Checks: Pods should function for .*http.*\\[Conformance\\]",
  "DNS should provide DNS for services +\\[Conformance\\]",
  "Services should be able to create a functioning NodePort service \\[Conformance\\]",
  "Kubectl Port forwarding|Kubectl logs should be able to retrieve and filter logs +\\[Conformance\\]",
];
const FEWEST = 5;
const say = (text: string) => process.stderr.write(`cluster suite: ${text}\n`);

test("specs of the cluster suite pass on two nodes", {
  skip: nodeSuiteObstacle() ?? false,
}, async () => {
  // Not in /tmp: nodes have their own.
  const folder = resultsFolder("cluster-part-nodelet");
  const parts = await prepareParts({ kind: "nodelet" }, say, "cluster");
  const selection = { focus: FOCUS, skip: ["\\[Serial\\]", "\\[Feature:"] };
  const { signal } = new AbortController();
  const run = { suite: "cluster", parts, selection, procs: PROCS, folder, signal, say } as const;
  const outcomes = await runSuite(run);
  const failed = outcomes.filter(({ outcome }) => outcome === "failed");
  assert.deepEqual(
    failed.map(({ name, message }) => [name, message]),
    [],
  );
  const passed = outcomes.filter(({ outcome }) => outcome === "passed");
  assert.ok(passed.length >= FEWEST, `${passed.length} passed`);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { subjectProblem } from "./commits.ts";

test("subjects of commits", () => {
  const table: readonly [string, RegExp | undefined][] = [
    ["host: start no file worker without a CPU", undefined],
    ["local API: taint nodes under pressure", undefined],
    ["host, stats: devices of disks", undefined],
    [`pods: ${"x".repeat(67)}`, /more than 72 characters/],
    ["start no file worker", /does not read/],
    ["pods: added a test", /not in the imperative/],
    ["pods: fix a test.", /ends with a period/],
  ];
  for (const [subject, expected] of table) {
    const problem = subjectProblem(subject);
    if (expected) assert.match(problem ?? "", expected);
    else assert.equal(problem, undefined);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod } from "../../../../test/support/pods.ts";
import { resizeCompleted, resizeFailed, resizePending, resizeStarted } from "./resize-text.ts";

const list = (cpu: string) => ({ requests: { memory: "1Gi", cpu }, limits: { cpu: "200m" } });

const SEVERAL = aPod({
  initContainers: [
    aContainer("init", { resources: list("9") }),
    aContainer("side", { restartPolicy: "Always", resources: { requests: { cpu: "0.1" } } }),
  ],
  containers: [aContainer("a", { resources: list("100m") }), aContainer("b")],
});

const INIT =
  '{"name":"init","resources":{"limits":{"cpu":"200m"},"requests":{"cpu":"9","memory":"1Gi"}}}';
const SIDE = `"initContainers":[${INIT},{"name":"side","resources":{"requests":{"cpu":"100m"}}}]`;
const A =
  '{"name":"a","resources":{"limits":{"cpu":"200m"},"requests":{"cpu":"100m","memory":"1Gi"}}}';
const CONTAINERS = `${SIDE},"containers":[${A},{"name":"b","resources":{}}]`;

test("events of resizes with the Go kubelet's text", () => {
  for (const [event, type, reason, message] of [
    [
      resizeStarted(SEVERAL, 2),
      "Normal",
      "ResizeStarted",
      `Pod resize started: {${CONTAINERS},"generation":2}`,
    ],
    [
      resizeCompleted(SEVERAL, 3),
      "Normal",
      "ResizeCompleted",
      `Pod resize completed: {${CONTAINERS},"generation":3}`,
    ],
    [
      resizeFailed(SEVERAL, 3, "no"),
      "Warning",
      "ResizeError",
      `Pod resize error: {${CONTAINERS},"generation":3,"error":"no"}`,
    ],
    [
      resizePending(SEVERAL, { reason: "Deferred", message: "later", generation: 4 }, "OutOfcpu"),
      "Warning",
      "ResizeDeferred",
      `Pod resize OutOfcpu: {${CONTAINERS},"generation":4,"error":"later"}`,
    ],
    [
      resizePending(SEVERAL, { reason: "Infeasible", message: "never", generation: 5 }),
      "Warning",
      "ResizeInfeasible",
      `Pod resize Infeasible: {${CONTAINERS},"generation":5,"error":"never"}`,
    ],
  ] as const)
    assert.deepEqual(event, { type, reason, message });
});

test("pod-level resources are included", () => {
  const pod = aPod({ resources: { requests: { cpu: "2000m" } } });
  assert.equal(
    resizeStarted(pod, 1).message,
    'Pod resize started: {"resources":{"requests":{"cpu":"2"}},"containers":[{"name":"a","resources":{}}],"generation":1}',
  );
});

test("letters that Go's JSON escapes are escaped", () => {
  assert.match(
    resizeFailed(aPod(), 1, 'a < b && "c"').message,
    /"error":"a \\u003c b \\u0026\\u0026 \\"c\\""}$/,
  );
});

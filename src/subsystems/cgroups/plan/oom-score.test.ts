import assert from "node:assert/strict";
import { test } from "node:test";
import {
  container,
  demand,
  GI,
  GUARANTEED,
  ONE,
  pod,
} from "../../../../test/support/cgroup-pods.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import { oomScoreAdj } from "./oom-score.ts";

const score = (given: IdentifiedPod, name = "a", capacity = 8 * GI) => {
  const all = demand(given);
  const found = all.containers.find((one) => one.name === name);
  assert.ok(found);
  return oomScoreAdj(all, found, capacity);
};
const asking = (memory: string) => pod([container("a", { memory }, { cpu: "1" })]);

test("oomScoreAdj by class and request", () => {
  assert.equal(score(GUARANTEED), -997);
  assert.equal(score(pod([container("a")])), 1000);
  for (const [memory, capacity, value] of [
    ["1Gi", 8, 875],
    ["2Gi", 8, 750],
    ["10Mi", 8, 999],
    ["0", 8, 999],
    ["8Gi", 8, 3],
    ["100Gi", 8, 3],
    ["1Gi", 16, 938],
    ["512Mi", 16, 969],
  ] as const) {
    assert.equal(score(asking(memory), "a", capacity * GI), value, `${memory} of ${capacity}Gi`);
  }
  const critical = { priority: 2_000_001_000, priorityClassName: "system-node-critical" };
  assert.equal(score(pod([container("a", ONE)], critical)), -997);
  assert.equal(score(pod([container("a", ONE)], { ...critical, priority: 1 })), 875);
  assert.equal(
    score(
      pod([container("a", ONE)], { ...critical, priorityClassName: "system-cluster-critical" }),
    ),
    875,
  );
});

test("oomScoreAdj: a sidecar outlives what it serves, unclaimed memory is shared", () => {
  const sidecar = (memory: string) =>
    pod([container("a", { memory: "2Gi" }), container("b", { memory: "1Gi" })], {
      initContainers: [container("s", { memory }, undefined, { restartPolicy: "Always" })],
    });
  assert.equal(score(sidecar("10Mi"), "s"), 875);
  assert.equal(score(sidecar("4Gi"), "s"), 500);
  const whole = pod([container("a", { memory: "1Gi" }), container("b")], {
    resources: { requests: { memory: "3Gi" } },
  });
  assert.equal(score(whole, "a"), 750);
  assert.equal(score(whole, "b"), 875);
  const less = pod([container("a", { memory: "2Gi" }), container("b", { memory: "1Gi" })], {
    resources: { requests: { memory: "1Gi" } },
  });
  assert.equal(score(less, "a"), 750, "no container pays for another");
  assert.equal(score(less, "b"), 875);
});

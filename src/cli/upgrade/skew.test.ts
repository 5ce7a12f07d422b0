import assert from "node:assert/strict";
import { test } from "node:test";
import { upgradeObstacle } from "./skew.ts";

for (const [cluster, target, node] of [
  ["v1.37.1", "v1.37.2", "v1.37.2"],
  ["v1.37.2", "v1.37.2", "v1.37.2"],
  ["v1.36.3", "v1.37.2", "v1.37.2+nodelet.0.1.0"],
  ["v1.37.2", "v1.38.0", "v1.37.2"],
  ["v1.39.2", "v1.40.0", "v1.37.2"],
] as const)
  test(`upgradeObstacle: ${cluster} to ${target} with a node of ${node}`, () =>
    assert.equal(upgradeObstacle({ cluster, target, node, startWords: "join" }), undefined));

for (const [cluster, target, node, problem] of [
  ["v1.37.2", "v1.37.1", "v1.37.2", "the cluster has v1.37.2 already, and v1.37.1 is older"],
  ["v1.37.2", "v1.36.9", "v1.36.2", "the cluster has v1.37.2 already, and v1.36.9 is older"],
  ["v1.35.3", "v1.37.2", "v1.35.2", "from v1.35.3 to v1.37.2 is more than one minor release"],
  [
    "v1.35.3",
    "v1.36.3",
    "v1.37.2",
    "nodelet is a v1.37.2, and a node may not be newer than its API server with v1.36.3",
  ],
  [
    "v1.40.0",
    "v1.41.0",
    "v1.37.2",
    "this node is a v1.37.2, more than 3 minor releases behind v1.41.0",
  ],
] as const)
  test(`upgradeObstacle: ${cluster} to ${target} with a node of ${node} is refused`, () =>
    assert.equal(upgradeObstacle({ cluster, target, node, startWords: "join" })?.problem, problem));

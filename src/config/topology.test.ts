import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "../kit/errors.ts";
import { topologyOf } from "./topology.ts";

const NODES = "/sys/devices/system/node";

function topologyWith(
  online: string,
  options: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
  policy = "restricted",
) {
  const all: Readonly<Record<string, string>> = { [`${NODES}/online`]: online, ...files };
  return topologyOf(
    {
      topologyManagerPolicy: policy,
      topologyManagerScope: "pod",
      topologyManagerPolicyOptions: options,
      featureGates: {},
    },
    (path) => all[path],
  );
}

test("topologyOf counts a kernel without NUMA as one node", () => {
  const config = { topologyManagerPolicy: "restricted", topologyManagerScope: "container" };
  const given = { ...config, topologyManagerPolicyOptions: {} };
  const nodes = { policy: "restricted", scope: "container", nodes: [0] };
  for (const isOn of [false, true]) {
    const featureGates = { PodLevelResourceManagers: isOn };
    const expected = { ...nodes, knowsWholePods: isOn };
    assert.deepEqual(
      topologyOf({ ...given, featureGates }, () => undefined),
      expected,
    );
  }
});

test("topologyOf reads distances by the place of a node, not by its number", () => {
  const rows = {
    [`${NODES}/node0/distance`]: "10 21\n",
    [`${NODES}/node8/distance`]: " 21 10\n",
  };
  assert.deepEqual(topologyWith("0,8\n", { "prefer-closest-numa-nodes": "true" }, rows), {
    policy: "restricted",
    scope: "pod",
    knowsWholePods: false,
    nodes: [0, 8],
    distances: [
      [10, 21],
      [21, 10],
    ],
  });
  const off = topologyWith("0,8\n", { "prefer-closest-numa-nodes": "false" }, rows);
  assert.equal(off.distances, undefined);
});

for (const [online, options, message] of [
  [
    "0-8",
    {},
    "topologyManagerPolicy: restricted: unsupported on machines with more than 8 NUMA Nodes, this machine has 9; set it to none, or topologyManagerPolicyOptions[max-allowable-numa-nodes] to 9",
  ],
  [
    "0-12",
    { "max-allowable-numa-nodes": "12" },
    "topologyManagerPolicy: restricted: unsupported on machines with more than 12 NUMA Nodes, this machine has 13; set it to none, or topologyManagerPolicyOptions[max-allowable-numa-nodes] to 13",
  ],
  [
    "0-33",
    { "max-allowable-numa-nodes": "64" },
    "topologyManagerPolicy: restricted: sets of more than 16 NUMA nodes are not worked out, this machine has 34; set it to none",
  ],
  [
    "0-1",
    { "prefer-closest-numa-nodes": "1" },
    "topologyManagerPolicyOptions[prefer-closest-numa-nodes]: cannot discover NUMA topology: /sys/devices/system/node/node0/distance does not hold 2 distances; remove the option",
  ],
] as const)
  test(`topologyOf refuses nodes ${online} with ${JSON.stringify(options)}`, () => {
    assert.throws(() => topologyWith(online, options), new UsageError(message));
  });

test("topologyOf allows as many nodes as max-allowable-numa-nodes, and any number with the policy none", () => {
  assert.equal(topologyWith("0-15", { "max-allowable-numa-nodes": "16" }).nodes.length, 16);
  assert.equal(topologyWith("0-33", {}, {}, "none").nodes.length, 16);
});

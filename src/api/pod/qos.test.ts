import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, ResourceRequirements } from "../generated/types.ts";
import { computeQosClass, qosClassOf } from "./qos.ts";

const both = { cpu: "1", memory: "1Gi" };
const full: ResourceRequirements = { requests: both, limits: both };
const podOf = (...resources: (ResourceRequirements | undefined)[]): Pod => ({
  spec: {
    containers: resources.map((r, i) => ({
      name: `c${i}`,
      ...(r === undefined ? {} : { resources: r }),
    })),
  },
});

test("computeQosClass: table", () => {
  const withInit = (init: ResourceRequirements | undefined): Pod => ({
    spec: {
      containers: [{ name: "a", resources: full }],
      initContainers: [{ name: "i", ...(init === undefined ? {} : { resources: init }) }],
    },
  });
  const podLevel = (resources: ResourceRequirements): Pod => ({
    spec: { containers: [{ name: "a" }], resources },
  });
  const table: readonly [string, Pod, string][] = [
    ["nothing", podOf(undefined), "BestEffort"],
    ["zero counts as nothing", podOf({ requests: { cpu: "0", memory: "0" } }), "BestEffort"],
    [
      "other resources do not count",
      podOf({ limits: { "ephemeral-storage": "1Gi" } }),
      "BestEffort",
    ],
    ["guaranteed", podOf(full), "Guaranteed"],
    [
      "equal in other spelling",
      podOf({ requests: { cpu: "1000m", memory: "1024Mi" }, limits: both }),
      "Guaranteed",
    ],
    ["limits only, without defaulting", podOf({ limits: both }), "Burstable"],
    ["memory missing", podOf({ requests: { cpu: "1" }, limits: { cpu: "1" } }), "Burstable"],
    ["one container without", podOf(full, undefined), "Burstable"],
    ["less requested", podOf({ requests: { cpu: "1", memory: "1Mi" }, limits: both }), "Burstable"],
    [
      "containers are compared, not sums",
      podOf(
        { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } },
        { requests: { cpu: "3", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } },
      ),
      "Burstable",
    ],
    [
      "one that asks for nothing beside one that asks for 0",
      podOf({}, { limits: { cpu: "0" } }),
      "BestEffort",
    ],
    ["init container without", withInit(undefined), "Burstable"],
    ["init container with", withInit(full), "Guaranteed"],
    ["pod level full", podLevel(full), "Guaranteed"],
    ["pod level requests only", podLevel({ requests: both }), "Burstable"],
    ["pod level cpu only", podLevel({ requests: { cpu: "1" }, limits: { cpu: "1" } }), "Burstable"],
    ["pod level limits only", podLevel({ limits: both }), "Burstable"],
    [
      "pod level, of no resource that counts",
      podLevel({ limits: { "hugepages-2Mi": "2Mi" } }),
      "BestEffort",
    ],
    ["no spec", {}, "BestEffort"],
  ];
  for (const [name, pod, expected] of table) assert.equal(computeQosClass(pod), expected, name);
});

test("computeQosClass: empty resources of the pod count as absent, unless they are to count as in 1.36", () => {
  for (const own of [{}, { requests: {} }, { limits: {} }, { requests: {}, limits: {} }]) {
    const pod: Pod = { spec: { containers: [{ name: "a", resources: full }], resources: own } };
    assert.equal(computeQosClass(pod), "Guaranteed");
    assert.equal(computeQosClass(pod, { countsEmptyPodResources: true }), "BestEffort");
  }
});

test("qosClassOf: the class in the status wins when it is one", () => {
  assert.equal(qosClassOf({ ...podOf(full), status: { qosClass: "Burstable" } }), "Burstable");
  assert.equal(qosClassOf({ ...podOf(full), status: { qosClass: "" } }), "Guaranteed");
});

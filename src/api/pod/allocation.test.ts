import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, ResourceRequirements } from "../generated/types.ts";
import {
  allocationOf,
  asScheduled,
  isSameAllocation,
  largerRequests,
  type PodAllocation,
  withAllocation,
} from "./allocation.ts";

const cpu = (requests: string, limits?: string): ResourceRequirements => ({
  requests: { cpu: requests },
  ...(limits === undefined ? {} : { limits: { cpu: limits } }),
});

const podOf = (own?: ResourceRequirements): Pod => ({
  metadata: { name: "p" },
  spec: {
    initContainers: [
      { name: "init", resources: cpu("1") },
      { name: "side", restartPolicy: "Always", resources: cpu("100m") },
    ],
    containers: [{ name: "a", resources: cpu("1", "2") }, { name: "b" }],
    ...(own ? { resources: own } : {}),
  },
});

test("allocationOf: containers, init containers and the pod itself", () => {
  assert.deepEqual(allocationOf(podOf()), {
    containers: { init: cpu("1"), side: cpu("100m"), a: cpu("1", "2"), b: {} },
  });
  assert.deepEqual(allocationOf(podOf(cpu("3"))).pod, cpu("3"));
});

test("withAllocation: the same pod where nothing differs but the spelling", () => {
  const pod = podOf(cpu("3"));
  assert.equal(withAllocation(pod, allocationOf(pod)), pod);
  const spelled = { ...allocationOf(pod), pod: cpu("3000m") };
  assert.equal(withAllocation(pod, spelled), pod);
  assert.equal(withAllocation(pod, { pod: cpu("3"), containers: {} }), pod);
});

test("withAllocation: what was given in place of what is asked for", () => {
  const given: PodAllocation = {
    containers: { a: cpu("2", "2"), side: cpu("50m"), init: cpu("9") },
  };
  const { spec } = withAllocation(podOf(cpu("3")), given);
  assert.equal(spec?.resources, undefined);
  assert.deepEqual(
    [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(
      ({ resources }) => resources,
    ),
    [cpu("9"), cpu("50m"), cpu("2", "2"), undefined],
  );
});

test("isSameAllocation compares amounts", () => {
  const one: PodAllocation = { containers: { a: cpu("1"), b: {} } };
  for (const [other, same] of [
    [{ containers: { a: cpu("1000m"), b: {} } }, true],
    [{ containers: { a: cpu("1") } }, true],
    [{ containers: { a: cpu("1", "1"), b: {} } }, false],
    [{ containers: { a: cpu("2"), b: {} } }, false],
    [{ pod: cpu("1"), containers: { a: cpu("1"), b: {} } }, false],
  ] as const)
    assert.equal(isSameAllocation(one, other), same, JSON.stringify(other));
});

test("largerRequests holds the larger of both until a change is carried out", () => {
  const held = largerRequests(
    { pod: cpu("4"), containers: { a: cpu("1", "2"), b: {} } },
    { pod: cpu("3"), containers: { a: { requests: { cpu: "500m", memory: "1Gi" } }, b: cpu("1") } },
  );
  assert.deepEqual(held, {
    pod: cpu("4"),
    containers: {
      a: { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2" } },
      b: cpu("1"),
    },
  });
});

test("asScheduled: what is asked for, given or had, but for what can never be given", () => {
  const at = (request: string, given: string, has: string, reason?: string): Pod => ({
    metadata: { name: "p" },
    spec: { containers: [{ name: "a", resources: cpu(request) }] },
    status: {
      containerStatuses: [
        {
          name: "a",
          image: "i",
          imageID: "",
          ready: true,
          restartCount: 0,
          allocatedResources: { cpu: given },
          resources: cpu(has),
        },
      ],
      ...(reason ? { conditions: [{ type: "PodResizePending", status: "True", reason }] } : {}),
    },
  });
  for (const [pod, counts] of [
    [at("1", "1", "1"), "1"],
    [at("3", "2", "1"), "3"],
    [at("3", "2", "1", "Deferred"), "3"],
    [at("3", "2", "1", "Infeasible"), "2"],
    [at("1", "1", "2"), "2"],
    [at("9", "1", "2", "Infeasible"), "2"],
  ] as const)
    assert.equal(asScheduled(pod).spec?.containers[0]?.resources?.requests?.["cpu"], counts);
  assert.deepEqual(asScheduled(podOf(cpu("3"))), podOf(cpu("3")));
});

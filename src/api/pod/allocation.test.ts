import assert from "node:assert/strict";
import { test } from "node:test";
import type { ContainerStatus, Pod, ResourceRequirements } from "../generated/types.ts";
import {
  allocationOf,
  asScheduled,
  isSameAllocation,
  type PodAllocation,
  withAllocation,
  withFootprint,
} from "./allocation.ts";
import { podResources } from "./pod-resources.ts";
import { qosClassOf } from "./qos.ts";

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

/** A pod of two containers. */
const two = (a: ResourceRequirements, b: ResourceRequirements, more: object = {}): Pod => ({
  metadata: { name: "p" },
  spec: {
    containers: [
      { name: "a", resources: a },
      { name: "b", resources: b },
    ],
    ...more,
  },
});

const cpuOf = (pod: Pod): number => podResources(pod).requests.cpuMilli;

interface Row {
  readonly what: string;
  readonly pod: Pod;
  readonly had: PodAllocation;
  readonly counts: Readonly<Record<string, number>>;
}

const overhead = { overhead: { cpu: "250m" } };
const own = (amount: string) => ({ resources: cpu(amount) });

const ROWS: readonly Row[] = [
  {
    what: "nothing differs",
    pod: two(cpu("1"), cpu("1")),
    had: allocationOf(two(cpu("1"), cpu("1"))),
    counts: { cpuMilli: 2000 },
  },
  {
    what: "one container grows by what another gives back",
    pod: two(cpu("1500m"), cpu("500m")),
    had: allocationOf(two(cpu("500m"), cpu("1500m"))),
    counts: { cpuMilli: 2000 },
  },
  {
    what: "what shrinks counts until it has",
    pod: two(cpu("1"), cpu("500m")),
    had: allocationOf(two(cpu("1"), cpu("2"))),
    counts: { cpuMilli: 3000 },
  },
  {
    what: "each resource by itself",
    pod: two({ requests: { cpu: "2", memory: "1Gi" } }, {}),
    had: allocationOf(two({ requests: { cpu: "1", memory: "2Gi" } }, {})),
    counts: { cpuMilli: 2000, memoryBytes: 2 ** 31 },
  },
  {
    what: "an overhead counts once",
    pod: two(cpu("1"), cpu("500m"), overhead),
    had: allocationOf(two(cpu("1"), cpu("2"), overhead)),
    counts: { cpuMilli: 3250 },
  },
  {
    what: "requests of the pod as a whole",
    pod: two(cpu("1"), {}, own("2")),
    had: allocationOf(two(cpu("1"), {}, own("3"))),
    counts: { cpuMilli: 3000 },
  },
  {
    what: "requests of the pod as a whole that were not there before",
    pod: two(cpu("1"), cpu("1"), own("3")),
    had: allocationOf(two(cpu("1"), cpu("1"))),
    counts: { cpuMilli: 3000 },
  },
];

for (const { what, pod, had, counts } of ROWS)
  test(`withFootprint: ${what}`, () => {
    const held = withFootprint(pod, allocationOf(pod), [had]);
    const { requests } = podResources(held);
    const found = Object.fromEntries(
      Object.keys(counts).map((name) => [name, requests[name as "cpuMilli" | "memoryBytes"]]),
    );
    assert.deepEqual(found, counts);
    assert.equal(qosClassOf(held), qosClassOf(pod));
  });

test("asScheduled: what is asked for, given or had, but for what can never be given", () => {
  const status = (name: string, given: string | undefined, has: string): ContainerStatus => ({
    name,
    image: "i",
    imageID: "",
    ready: true,
    restartCount: 0,
    ...(given === undefined ? {} : { allocatedResources: { cpu: given } }),
    resources: cpu(has),
  });
  const at = (request: string, given: string | undefined, has: string, reason?: string): Pod => ({
    metadata: { name: "p" },
    spec: { containers: [{ name: "a", resources: cpu(request) }] },
    status: {
      containerStatuses: [status("a", given, has)],
      ...(reason ? { conditions: [{ type: "PodResizePending", status: "True", reason }] } : {}),
    },
  });
  for (const [pod, counts] of [
    [at("1", "1", "1"), 1000],
    [at("3", "2", "1"), 3000],
    [at("3", "2", "1", "Deferred"), 3000],
    [at("3", "2", "1", "Infeasible"), 2000],
    [at("1", "1", "2"), 2000],
    [at("9", "1", "2", "Infeasible"), 2000],
    [at("9", undefined, "2", "Infeasible"), 2000],
  ] as const)
    assert.equal(cpuOf(asScheduled(pod)), counts);
  const untouched = two(cpu("3"), cpu("1"));
  assert.equal(asScheduled(untouched), untouched);
  const swapped = {
    ...two(cpu("500m"), cpu("1500m")),
    status: { containerStatuses: [status("a", "500m", "1500m"), status("b", "1500m", "500m")] },
  };
  assert.equal(cpuOf(asScheduled(swapped)), 2000, "sums are compared, not containers");
});

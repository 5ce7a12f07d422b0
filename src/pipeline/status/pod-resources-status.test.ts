import assert from "node:assert/strict";
import { test } from "node:test";
import { aContainer, aPod, aRecord } from "../../../test/support/pods.ts";
import type { PodSpec, PodStatus } from "../../api/generated/types.ts";
import { allocationOf } from "../../api/pod/allocation.ts";
import { asSpecified } from "../pods/record/record.ts";
import { statusPodResources } from "./pod-resources-status.ts";

const sized = (name: string, requests: object, limits?: object, more: object = {}) =>
  aContainer(name, {
    resources: {
      ...(Object.keys(requests).length > 0 ? { requests: { ...requests } } : {}),
      ...(limits ? { limits: { ...limits } } : {}),
    },
    ...more,
  });

type Shown = Pick<PodStatus, "allocatedResources" | "resources">;

interface Case {
  readonly name: string;
  readonly spec: Partial<PodSpec>;
  /** While the pod does not run, and while it does. */
  readonly given: Shown;
  readonly running?: Shown;
}

const BOTH = { cpu: "1", memory: "1Gi" };

const CASES: readonly Case[] = [
  {
    name: "a pod without any says so, which shows that the node supports resizes",
    spec: {},
    given: { resources: {} },
  },
  {
    name: "the sum of the containers",
    spec: { containers: [sized("a", BOTH, BOTH), sized("b", { cpu: "500m" }, BOTH)] },
    given: {
      allocatedResources: { cpu: "1500m", memory: "1Gi" },
      resources: {
        requests: { cpu: "1500m", memory: "1Gi" },
        limits: { cpu: "2", memory: "2Gi" },
      },
    },
  },
  {
    name: "limits of some containers only limit no cgroup",
    spec: { containers: [sized("a", BOTH, BOTH), sized("b", BOTH)] },
    given: {
      allocatedResources: { cpu: "2", memory: "2Gi" },
      resources: { requests: { cpu: "2", memory: "2Gi" }, limits: BOTH },
    },
    running: {
      allocatedResources: { cpu: "2", memory: "2Gi" },
      resources: { requests: { cpu: "2", memory: "2Gi" } },
    },
  },
  {
    name: "init containers are a minimum, sidecars are added",
    spec: {
      initContainers: [
        sized("side", { cpu: "100m" }, undefined, { restartPolicy: "Always" }),
        sized("prep", { cpu: "3" }),
      ],
      containers: [sized("a", { cpu: "1" })],
    },
    given: {
      allocatedResources: { cpu: "3100m" },
      resources: { requests: { cpu: "3100m" } },
    },
  },
  {
    name: "the overhead is added, to limits where there are some",
    spec: {
      overhead: { cpu: "250m", memory: "64Mi" },
      containers: [sized("a", { cpu: "1" }, { cpu: "2" })],
    },
    given: {
      allocatedResources: { cpu: "1250m", memory: "64Mi" },
      resources: { requests: { cpu: "1250m", memory: "64Mi" }, limits: { cpu: "2250m" } },
    },
  },
  {
    name: "resources of the pod replace the sum",
    spec: {
      resources: { requests: { cpu: "2" }, limits: { memory: "4Gi" } },
      containers: [sized("a", BOTH)],
    },
    given: {
      allocatedResources: { cpu: "2", memory: "1Gi" },
      resources: { requests: { cpu: "2", memory: "1Gi" }, limits: { memory: "4Gi" } },
    },
  },
  {
    name: "what no cgroup knows is shown as given, and only until the pod runs",
    spec: { containers: [sized("a", { cpu: "1", "ephemeral-storage": "1Gi" })] },
    given: {
      allocatedResources: { cpu: "1", "ephemeral-storage": "1Gi" },
      resources: { requests: { cpu: "1", "ephemeral-storage": "1Gi" } },
    },
    running: {
      allocatedResources: { cpu: "1", "ephemeral-storage": "1Gi" },
      resources: { requests: { cpu: "1" } },
    },
  },
];

for (const { name, spec, given, running = given } of CASES)
  test(`statusPodResources: ${name}`, () => {
    const record = aRecord({ pod: aPod(spec) });
    assert.deepEqual(statusPodResources(record, "Pending"), given);
    assert.deepEqual(statusPodResources(record, "Running"), running);
  });

test("statusPodResources: given while it runs, and not yet had by the cgroup", () => {
  const whole = (requests: object) => aPod({ resources: { requests: { ...requests } } });
  const actuated = {
    ...asSpecified(whole({ cpu: "2" })),
    group: allocationOf(whole({ cpu: "1" })),
  };
  const record = aRecord({ pod: whole({ cpu: "2" }) }, { resize: { actuated } });
  assert.deepEqual(statusPodResources(record, "Running"), {
    allocatedResources: { cpu: "2" },
    resources: { requests: { cpu: "1" } },
  });
});

test("statusPodResources: resources that a resize adds to the pod", () => {
  const containers = [sized("a", { cpu: "100m" })];
  const resources = { requests: { cpu: "300m" }, limits: { cpu: "1" } };
  const pod = aPod({ containers, resources });
  const before = allocationOf(aPod({ containers }));
  const actuated = { ...asSpecified(pod), group: before };
  assert.deepEqual(statusPodResources(aRecord({ pod }, { resize: { actuated } }), "Running"), {
    allocatedResources: { cpu: "300m" },
    resources: { requests: { cpu: "100m" } },
  });
  assert.deepEqual(statusPodResources(aRecord({ pod }), "Running"), {
    allocatedResources: { cpu: "300m" },
    resources,
  });
});

test("statusPodResources: amounts of the pod in their own words, memory requests at once", () => {
  const whole = (cpu: string, memory: string) =>
    aPod({ resources: { requests: { cpu, memory }, limits: { cpu, memory } } });
  const [before, after] = [whole("250m", "1Gi"), whole("1500m", "2Gi")];
  const shown = (group: typeof before, phase = "Running") => {
    const actuated = { ...asSpecified(after), group: allocationOf(group) };
    return statusPodResources(aRecord({ pod: after }, { resize: { actuated } }), phase).resources;
  };
  const [old, now] = [
    { cpu: "250m", memory: "1Gi" },
    { cpu: "1500m", memory: "2Gi" },
  ];
  assert.deepEqual(shown(before), { requests: { cpu: "250m", memory: "2Gi" }, limits: old });
  assert.deepEqual(shown(after), { requests: now, limits: now });
});

test("statusPodResources: amounts below what a cgroup can hold are those that were given", () => {
  const resources = { requests: { cpu: "1m" }, limits: { cpu: "5m" } };
  const record = aRecord({ pod: aPod({ resources }) });
  assert.deepEqual(statusPodResources(record, "Running").resources, resources);
});

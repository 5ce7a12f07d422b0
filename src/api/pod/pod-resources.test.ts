import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container, Pod } from "../generated/types.ts";
import { everyContainerLimits, podResources, resourceAmounts } from "./pod-resources.ts";

const container = (
  name: string,
  requests: Record<string, string>,
  limits: Record<string, string> = {},
  more: Partial<Container> = {},
): Container => ({ name, resources: { requests, limits }, ...more });
const sidecar = { restartPolicy: "Always" };

test("podResources: containers add up, init containers set a minimum, sidecars do both", () => {
  const pod: Pod = {
    spec: {
      containers: [container("a", { cpu: "1", memory: "1Gi" }), container("b", { cpu: "500m" })],
      initContainers: [
        container("i1", { cpu: "1200m", memory: "100Mi" }),
        container("s1", { cpu: "200m", memory: "1Gi" }, {}, sidecar),
        container("i2", { cpu: "2", "nvidia.com/gpu": "2" }),
        container("s2", { cpu: "100m" }, {}, sidecar),
      ],
    },
  };
  const { requests } = podResources(pod);
  // Running: 1000 + 500 + 200 + 100 = 1800; the second init container needs 2000 beside the first sidecar.
  assert.equal(requests.cpuMilli, 2200);
  assert.equal(requests.memoryBytes, 2 * 2 ** 30);
  assert.equal(requests.extended.get("nvidia.com/gpu"), 2);
});

test("podResources: overhead counts for requests, and for limits only where there is one", () => {
  const pod: Pod = {
    spec: {
      containers: [container("a", { cpu: "1" }, { cpu: "2" })],
      overhead: { cpu: "250m", memory: "120Mi" },
    },
  };
  const { requests, limits, cpuLimited, memoryLimited } = podResources(pod);
  assert.equal(requests.cpuMilli, 1250);
  assert.equal(requests.memoryBytes, 120 * 2 ** 20);
  assert.equal(limits.cpuMilli, 2250);
  assert.equal(limits.memoryBytes, 0);
  assert.equal(cpuLimited, true);
  assert.equal(memoryLimited, false);
});

test("podResources: pod-level resources replace cpu, memory and hugepages only", () => {
  const pod: Pod = {
    spec: {
      containers: [container("a", { cpu: "1", "ephemeral-storage": "1Gi" })],
      resources: {
        requests: { cpu: "4", "hugepages-2Mi": "4Mi", "ephemeral-storage": "9Gi" },
        limits: { memory: "8Gi" },
      },
    },
  };
  const { requests, limits, cpuLimited, memoryLimited } = podResources(pod);
  assert.equal(requests.cpuMilli, 4000);
  assert.equal(requests.hugepagesBytes.get("hugepages-2Mi"), 4 * 2 ** 20);
  assert.equal(requests.ephemeralStorageBytes, 2 ** 30);
  assert.equal(limits.memoryBytes, 8 * 2 ** 30);
  assert.deepEqual([cpuLimited, memoryLimited], [false, true]);
});

test("podResources: one unlimited init container makes the pod unlimited", () => {
  const limited = container("a", {}, { cpu: "1", memory: "1Gi" });
  const pod: Pod = { spec: { containers: [limited], initContainers: [container("i", {})] } };
  assert.deepEqual(
    [podResources(pod).cpuLimited, podResources({ spec: { containers: [limited] } }).cpuLimited],
    [false, true],
  );
  assert.equal(everyContainerLimits({ spec: { containers: [] } }, "cpu"), false);
});

test("resourceAmounts, podResources: absurd sums are clamped, odd names harmless", () => {
  const huge = container("a", { memory: "8Ei" });
  const total = podResources({ spec: { containers: [huge, { ...huge, name: "b" }] } });
  assert.equal(total.requests.memoryBytes, Number.MAX_SAFE_INTEGER);
  const odd = resourceAmounts(JSON.parse('{"__proto__": "3", "constructor": "4"}'));
  assert.equal(odd.extended.get("__proto__"), 3);
  assert.equal(odd.cpuMilli, 0);
  assert.equal(resourceAmounts(undefined).memoryBytes, 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { filesOf, GI, settings } from "../../../../test/support/cgroup-pods.ts";
import { lessReserved, podsBudget } from "../settings.ts";
import { planWrites } from "../writes.ts";
import { pageSizeName, pageSizeOfResource } from "./demand.ts";
import { planNode, planReserved } from "./plan-node.ts";

const NO_HUGEPAGES_V1 = {
  "hugetlb.2MB.limit_in_bytes": "0",
  "hugetlb.2MB.rsvd.limit_in_bytes": "0",
};

const CONTROLLERS = new Set(["cpu", "memory", "pids"]);

test("planNode leaves reservations out while pods are enforced", () => {
  const options = {
    systemReserved: { cpu: "500m", memory: "1Gi", pid: "1000" },
    kubeReserved: { cpu: "500m", memory: "1Gi", pid: "768" },
  };
  assert.deepEqual(filesOf(planNode(settings(1, options))), {
    "cpu.shares": "2048",
    "memory.limit_in_bytes": String(6 * GI),
    "pids.max": "31000",
    ...NO_HUGEPAGES_V1,
  });
  const off = planNode(settings(2, { ...options, enforceNodeAllocatable: ["none"] }));
  assert.equal(filesOf(off)["memory.max"], String(8 * GI));
  assert.equal(filesOf(off)["cpu.weight"], "118");
});

test("lessReserved never goes below nothing", () => {
  const left = lessReserved({ cpuMilli: 1000, memoryBytes: 5, hugepages: { "2MB": 8 } }, [
    { cpuMilli: 700, hugepages: { "2MB": 2, "1GB": 1 } },
    { cpuMilli: 700, memoryBytes: 1 },
  ]);
  assert.deepEqual(left, { cpuMilli: 0, memoryBytes: 4, pids: 0, hugepages: { "2MB": 6 } });
  assert.equal(podsBudget(settings(2, { kubeReserved: { memory: "100Gi" } })).memoryBytes, 0);
});

test("planReserved limits the machine's own groups, only CPU where compressible", () => {
  const options = {
    systemReserved: { cpu: "1", memory: "1Gi", pid: "1000" },
    kubeReserved: { cpu: "500m", memory: "1Gi" },
    systemReservedCgroup: "/system",
    kubeReservedCgroup: "/kube",
    enforceNodeAllocatable: ["pods", "system-reserved", "kube-reserved-compressible"],
  };
  const plans = planReserved(settings(1, options));
  assert.deepEqual(
    plans.map((plan) => [plan.path, plan.create, filesOf(plan)]),
    [
      [
        "/system",
        false,
        { "cpu.shares": "1024", "memory.limit_in_bytes": "1073741824", "pids.max": "1000" },
      ],
      ["/kube", false, { "cpu.shares": "512" }],
    ],
  );
  assert.deepEqual(planReserved(settings(2)), []);
});

test("planWrites leaves absent and zero values and absent controllers alone", () => {
  const shape = { version: 2 as const, controllers: CONTROLLERS };
  assert.deepEqual(planWrites(shape, {}), []);
  assert.deepEqual(planWrites(shape, { cpuShares: 0, memoryBytes: 0, pids: 0, cpuQuotaUs: 0 }), []);
  const few = { version: 2 as const, controllers: new Set(["memory"]) };
  const writes = planWrites(few, { cpuShares: 5, memoryBytes: -1, unified: { "io.weight": "1" } });
  assert.deepEqual(writes, [{ file: "memory.max", value: "max" }]);
  assert.deepEqual(planWrites(shape, { cpuPeriodUs: 50_000 }), [
    { file: "cpu.max", value: "max 50000" },
  ]);
});

test("page sizes as the kernel spells them", () => {
  for (const [bytes, name] of [
    [65_536, "64KB"],
    [2 ** 21, "2MB"],
    [2 ** 25, "32MB"],
    [2 ** 30, "1GB"],
    [2 ** 34, "16GB"],
  ] as const) {
    assert.equal(pageSizeName(bytes), name);
  }
  assert.equal(pageSizeOfResource("hugepages-2Mi"), "2MB");
  assert.equal(pageSizeOfResource("hugepages-1024Mi"), "1GB");
  assert.equal(pageSizeOfResource("memory"), undefined);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BURSTABLE, demand, pod, settings } from "../../../test/support/cgroup-pods.ts";
import { systemdQuota } from "./convert.ts";
import { planNode } from "./plan/plan-node.ts";
import { planPodGroup } from "./plan/plan-pod.ts";
import { cpuBits, startProperties, unitOf, unitProperties } from "./units.ts";
import type { CgroupWrite } from "./writes.ts";

const INFINITY = 2n ** 64n - 1n;

const valuesOf = (version: 1 | 2, writes: readonly CgroupWrite[], systemd = 252) =>
  Object.fromEntries(
    unitProperties(settings(version), writes, systemd).map(({ name, value }) => [name, value]),
  );

test("unitProperties of a burstable pod, both versions", () => {
  const of = (version: 1 | 2) =>
    planPodGroup(settings(version, { driver: "systemd", podPidsLimit: 100 }), demand(BURSTABLE))
      .writes;
  assert.deepEqual(valuesOf(2, of(2)), {
    CPUWeight: 79n,
    MemoryMax: 3221225472n,
    TasksMax: 100n,
    CPUQuotaPeriodUSec: 100000n,
    CPUQuotaPerSecUSec: 3000000n,
  });
  assert.deepEqual(valuesOf(1, of(1)), {
    CPUShares: 2048n,
    MemoryLimit: 3221225472n,
    TasksMax: 100n,
    CPUQuotaPeriodUSec: 100000n,
    CPUQuotaPerSecUSec: 3000000n,
  });
});

test("unitProperties spells no limit as infinity and leaves out what systemd is too old for", () => {
  const writes = [
    { file: "cpu.max", value: "max 100000" },
    { file: "memory.max", value: "max" },
    { file: "memory.low", value: "0" },
    { file: "cpuset.cpus", value: "0-2" },
    { file: "hugetlb.2MB.max", value: "0" },
  ];
  const rest = { MemoryLow: 0n, MemoryMax: INFINITY, CPUQuotaPerSecUSec: INFINITY };
  assert.deepEqual(valuesOf(2, writes), {
    ...rest,
    CPUQuotaPeriodUSec: 100000n,
    AllowedCPUs: [7],
  });
  assert.deepEqual(valuesOf(2, writes, 243), { ...rest, CPUQuotaPeriodUSec: 100000n });
  assert.deepEqual(valuesOf(2, writes, 241), rest);
});

test("quotas are whole percents of a CPU in the plan and as a property alike", () => {
  for (const [quotaUs, kept] of [
    [33_300, 34_000],
    [12_345, 13_000],
    [1500, 2000],
    [100_000, 100_000],
  ] as const) {
    assert.equal(systemdQuota(quotaUs, 100_000).quotaUs, kept);
  }
  const third = pod([{ name: "a", resources: { limits: { cpu: "333m", memory: "1Gi" } } }]);
  const plan = planPodGroup(settings(2, { driver: "systemd" }), demand(third));
  assert.equal(plan.writes.find(({ file }) => file === "cpu.max")?.value, "34000 100000");
  assert.equal(valuesOf(2, plan.writes)["CPUQuotaPerSecUSec"], 340_000n);
  fc.assert(
    fc.property(
      fc.integer({ min: 1000, max: 10_000_000 }),
      fc.constantFrom(1000, 7919, 100_000, 1_000_000),
      (quota, period) => {
        const kept = systemdQuota(quota, period).quotaUs;
        const perSecond = valuesOf(2, [{ file: "cpu.max", value: `${kept} ${period}` }]);
        assert.equal(
          Number(perSecond["CPUQuotaPerSecUSec"]),
          systemdQuota(quota, period).perSecondUs,
        );
        assert.ok(kept >= Math.floor(quota) - 1 && kept <= quota + period / 100 + 1);
      },
    ),
  );
});

test("startProperties depends on the slice above and accounts for everything", () => {
  const path = "/kubepods.slice/kubepods-burstable.slice";
  assert.equal(unitOf(path), "kubepods-burstable.slice");
  const dependsOn = (of: string) =>
    startProperties(of, settings(2)).find(({ name }) => name === "Wants")?.value;
  assert.deepEqual(dependsOn(path), ["kubepods.slice"]);
  assert.deepEqual(dependsOn("/kubepods.slice"), ["-.slice"]);
  const names = (version: 1 | 2) =>
    startProperties(path, settings(version)).map(({ name }) => name);
  assert.ok(names(1).includes("BlockIOAccounting") && names(2).includes("IOAccounting"));
});

test("planNode names the CPUs where systemd must know them", () => {
  const plan = planNode({ ...settings(2, { driver: "systemd" }), cpus: "0-3,8" });
  assert.deepEqual(valuesOf(2, plan.writes)["AllowedCPUs"], [15, 1]);
});

test("cpuBits sets the bit of each CPU, lowest first", () => {
  for (const [list, bytes] of [
    ["", []],
    ["0", [1]],
    ["0-7", [255]],
    ["1,8-9", [2, 3]],
    ["16", [0, 0, 1]],
  ] as const) {
    assert.deepEqual(cpuBits(list), bytes);
  }
});

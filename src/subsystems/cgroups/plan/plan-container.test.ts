import assert from "node:assert/strict";
import { test } from "node:test";
import {
  BURSTABLE,
  container,
  demand,
  filesOf,
  GI,
  GUARANTEED,
  ONE,
  pod,
  settings,
  TWO,
} from "../../../../test/support/cgroup-pods.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { CgroupOptions } from "../options.ts";
import type { CgroupSettings } from "../settings.ts";
import { readContainerDemand } from "./demand.ts";
import { expectContainerFiles, planContainerGroup, swapBytes } from "./plan-container.ts";
import { planPodGroup } from "./plan-pod.ts";

const resources = (
  of: IdentifiedPod,
  name: string,
  version: 1 | 2,
  options: Partial<CgroupOptions> = {},
) => {
  const all = demand(of).containers;
  const found = all.find((one) => one.name === name) ?? readContainerDemand({ name }, "regular");
  return planContainerGroup(settings(version, options), demand(of), found);
};

test("planContainer: shares, quota and memory", () => {
  for (const [requests, limits, shares, quota, memory] of [
    [ONE, TWO, 1024n, 200_000n, 2_147_483_648n],
    [ONE, undefined, 1024n, 0n, 0n],
    [undefined, { cpu: "500m" }, 512n, 50_000n, 0n],
    [{ cpu: "0" }, { cpu: "500m" }, 2n, 50_000n, 0n],
    [undefined, undefined, 2n, 0n, 0n],
    [{ cpu: "1m" }, { cpu: "1m" }, 2n, 1000n, 0n],
  ] as const) {
    const plan = resources(pod([container("a", requests, limits)]), "a", 1);
    assert.deepEqual(
      [plan.cpuShares, plan.cpuQuota, plan.memoryLimitInBytes, plan.cpuPeriod],
      [shares, quota, memory, 100_000n],
    );
  }
});

test("planContainer: quota off, exclusive CPUs, limits of the pod as a whole", () => {
  const off = resources(GUARANTEED, "a", 1, { cpuCfsQuota: false });
  assert.deepEqual([off.cpuQuota, off.cpuPeriod], [0n, 0n]);
  const exclusive = planContainerGroup(
    settings(1),
    { ...demand(GUARANTEED), exclusiveCpus: true },
    readContainerDemand(container("a", ONE, ONE), "regular"),
  );
  assert.deepEqual([exclusive.cpuQuota, exclusive.cpuPeriod], [-1n, 100_000n]);
  const whole = pod([container("a", ONE), container("b", ONE, ONE)], {
    resources: { limits: { cpu: "3", memory: "3Gi" } },
  });
  const [a, b] = [resources(whole, "a", 2), resources(whole, "b", 2)];
  assert.deepEqual([a.cpuQuota, a.memoryLimitInBytes], [300_000n, BigInt(3 * GI)]);
  assert.deepEqual([b.cpuQuota, b.memoryLimitInBytes], [100_000n, BigInt(GI)]);
});

test("planContainer: huge pages of every size of the machine, killing as a group on v2", () => {
  const given = pod([container("a", ONE, { "hugepages-2Mi": "6Mi", "hugepages-1Gi": "1Gi" })]);
  const v2 = resources(given, "a", 2);
  assert.deepEqual(v2.hugepageLimits, [{ pageSize: "2MB", limit: 6_291_456n }]);
  assert.equal(v2.unified["memory.oom.group"], "1");
  const single = resources(given, "a", 2, { singleProcessOomKill: true });
  assert.equal(single.unified["memory.oom.group"], undefined);
  assert.deepEqual(resources(given, "a", 1).unified, {});
  assert.deepEqual(resources(BURSTABLE, "unknown", 1).hugepageLimits, [
    { pageSize: "2MB", limit: 0n },
  ]);
});

test("planContainer: huge pages of the pod as a whole are those of containers that name none", () => {
  const pages = (megabytes: number) => ({ "hugepages-2Mi": `${megabytes}Mi` });
  const whole = pod([container("a", ONE), container("b", ONE, { ...ONE, ...pages(2) })], {
    resources: { requests: pages(6), limits: pages(6) },
  });
  for (const [name, limit] of [
    ["a", 6_291_456n],
    ["b", 2_097_152n],
  ] as const) {
    assert.deepEqual(resources(whole, name, 2).hugepageLimits, [{ pageSize: "2MB", limit }]);
  }
});

function withSwap(version: 1 | 2, behavior: "NoSwap" | "LimitedSwap"): CgroupSettings {
  return { ...settings(version), swap: { behavior, controlled: true, bytes: 4 * GI } };
}

test("planContainer: swap", () => {
  const burstable = pod([container("a", { memory: "1Gi" })]);
  const swapOf = (given: IdentifiedPod, version: 1 | 2, behavior: "NoSwap" | "LimitedSwap") => {
    const all = demand(given);
    const [first = readContainerDemand({ name: "x" }, "regular")] = all.containers;
    const plan = planContainerGroup(withSwap(version, behavior), all, first);
    return [plan.memorySwapLimitInBytes, plan.unified["memory.swap.max"]];
  };
  assert.deepEqual(swapOf(burstable, 2, "LimitedSwap"), [0n, "536870912"]);
  assert.deepEqual(swapOf(burstable, 2, "NoSwap"), [0n, "0"]);
  assert.deepEqual(swapOf(GUARANTEED, 1, "NoSwap"), [1_073_741_824n, undefined]);
  assert.deepEqual(swapOf(burstable, 1, "LimitedSwap"), [0n, undefined]);
  for (const none of [
    GUARANTEED,
    pod([container("a")]),
    pod([container("a", { cpu: "1" })]),
    pod([container("a", { memory: "1Gi" }, { memory: "1Gi" })]),
    pod([container("a", { memory: "1Gi" })], { priority: 2_000_000_000 }),
    pod([container("a", { memory: "9Gi" })]),
  ]) {
    assert.deepEqual(swapOf(none, 2, "LimitedSwap"), [0n, "0"]);
  }
  assert.equal(
    resources(burstable, "a", 2, { swapBehavior: "LimitedSwap" }).unified["memory.swap.max"],
    undefined,
  );
  const [a = readContainerDemand({ name: "x" }, "regular")] = demand(burstable).containers;
  assert.equal(swapBytes(withSwap(2, "LimitedSwap"), demand(burstable), a), 536_870_912);
});

test("expectContainerFiles covers both generations of runtimes", () => {
  const plan = resources(GUARANTEED, "a", 2);
  const weight = (weights: "linear" | "quadratic") =>
    expectContainerFiles(settings(2), plan, weights).find(({ file }) => file === "cpu.weight");
  assert.equal(weight("linear")?.value, "39");
  assert.equal(weight("quadratic")?.value, "100");
});

test("an amount beyond what there can be reaches runtime and kernel as the most there is", () => {
  const MOST = 9_223_372_036_854_775_807n;
  for (const [memory, bytes] of [
    ["9Ei", MOST],
    ["9223372036854775807", MOST],
    ["1Pi", 2n ** 50n],
    ["4503599627370497", 2n ** 52n + 1n],
  ] as const) {
    const huge = pod([container("a", {}, { memory })]);
    for (const version of [1, 2] as const) {
      assert.equal(resources(huge, "a", version).memoryLimitInBytes, bytes, memory);
      const files = filesOf(planPodGroup(settings(version), demand(huge)));
      const file = version === 1 ? "memory.limit_in_bytes" : "memory.max";
      assert.equal(files[file], String(bytes), memory);
    }
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "../../../api/generated/types.ts";
import { planSandboxGroup } from "./plan-sandbox.ts";

const SETTINGS = {
  cpuCfsQuota: true,
  cpuPeriodUs: 100_000,
  version: 1,
  singleProcessOomKill: true,
};
const GI = 1024 ** 3;

const plan = (spec: Partial<PodSpec>, settings = SETTINGS) =>
  planSandboxGroup(settings as Parameters<typeof planSandboxGroup>[0], {
    spec: { containers: [], ...spec },
  });

test("planSandbox: sums of the containers, and overhead apart, as request and limit", () => {
  const of = (cpu: string, memory: string) => ({
    name: cpu,
    resources: { requests: { cpu, memory }, limits: { cpu, memory } },
  });
  const containers = [of("1", "1Gi"), of("500m", "1Gi")];
  const { resources, overhead } = plan({
    containers,
    overhead: { cpu: "250m", memory: "128Mi" },
  });
  assert.deepEqual(resources, {
    cpuShares: 1536n,
    cpuQuota: 150_000n,
    cpuPeriod: 100_000n,
    memoryLimitInBytes: BigInt(2 * GI),
    unified: {},
  });
  assert.deepEqual(overhead, {
    cpuShares: 256n,
    cpuQuota: 25_000n,
    cpuPeriod: 100_000n,
    memoryLimitInBytes: BigInt(GI / 8),
    unified: {},
  });
});

test("planSandbox: nothing is limited that nobody limits", () => {
  const { resources, overhead } = plan({ containers: [{ name: "a" }] });
  assert.deepEqual([resources.cpuQuota, resources.memoryLimitInBytes], [0n, 0n]);
  assert.equal(resources.cpuShares, 2n);
  assert.deepEqual(overhead, {});
});

test("planSandbox: without quotas no period either; killing as a group on v2", () => {
  const settings = { ...SETTINGS, cpuCfsQuota: false, version: 2, singleProcessOomKill: false };
  const { resources } = plan({ containers: [{ name: "a" }] }, settings);
  assert.deepEqual([resources.cpuQuota, resources.cpuPeriod], [0n, 0n]);
  assert.deepEqual(resources.unified, { "memory.oom.group": "1" });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  container,
  demand,
  filesOf,
  ONE,
  pod,
  settings,
  TWO,
} from "../../../../test/support/cgroup-pods.ts";
import type { IdentifiedPod } from "../../../api/pod-identity.ts";
import type { CgroupOptions } from "../options.ts";
import { planPodGroup } from "./plan-pod.ts";

const podFiles = (of: IdentifiedPod, version: 1 | 2, options: Partial<CgroupOptions> = {}) =>
  filesOf(planPodGroup(settings(version, options), demand(of)));

const NO_HUGEPAGES_V1 = {
  "hugetlb.2MB.limit_in_bytes": "0",
  "hugetlb.2MB.rsvd.limit_in_bytes": "0",
};
const NO_HUGEPAGES_V2 = { "hugetlb.2MB.max": "0", "hugetlb.2MB.rsvd.max": "0" };

test("planPod by class, both versions", () => {
  const rows: readonly [string, IdentifiedPod, Record<string, string>, Record<string, string>][] = [
    [
      "guaranteed",
      pod([container("a", ONE, ONE)]),
      {
        "cpu.shares": "1024",
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "100000",
        "memory.limit_in_bytes": "1073741824",
      },
      { "cpu.weight": "39", "cpu.max": "100000 100000", "memory.max": "1073741824" },
    ],
    [
      "burstable, all limited",
      pod([container("a", ONE, ONE), container("b", ONE, TWO)]),
      {
        "cpu.shares": "2048",
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "300000",
        "memory.limit_in_bytes": "3221225472",
      },
      { "cpu.weight": "79", "cpu.max": "300000 100000", "memory.max": "3221225472" },
    ],
    [
      "burstable, one without limits",
      pod([container("a", ONE, ONE), container("b", ONE)]),
      { "cpu.shares": "2048" },
      { "cpu.weight": "79" },
    ],
    [
      "burstable, an init container without limits",
      pod([container("a", ONE, TWO)], { initContainers: [container("i")] }),
      { "cpu.shares": "1024" },
      { "cpu.weight": "39" },
    ],
    [
      "burstable, only memory limited",
      pod([container("a", ONE, { memory: "1Gi" })]),
      { "cpu.shares": "1024", "memory.limit_in_bytes": "1073741824" },
      { "cpu.weight": "39", "memory.max": "1073741824" },
    ],
    [
      "burstable, limited as a whole",
      pod([container("a", ONE)], { resources: { requests: ONE, limits: TWO } }),
      {
        "cpu.shares": "1024",
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "200000",
        "memory.limit_in_bytes": "2147483648",
      },
      { "cpu.weight": "39", "cpu.max": "200000 100000", "memory.max": "2147483648" },
    ],
    [
      "guaranteed with overhead",
      pod([container("a", ONE, ONE)], { overhead: { cpu: "250m", memory: "128Mi" } }),
      {
        "cpu.shares": "1280",
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "125000",
        "memory.limit_in_bytes": String(1152 * 2 ** 20),
      },
      { "cpu.weight": "49", "cpu.max": "125000 100000", "memory.max": String(1152 * 2 ** 20) },
    ],
    ["best effort", pod([container("a")]), { "cpu.shares": "2" }, { "cpu.weight": "1" }],
  ];
  for (const [name, given, v1, v2] of rows) {
    assert.deepEqual(podFiles(given, 1), { ...v1, ...NO_HUGEPAGES_V1 }, `${name}, v1`);
    assert.deepEqual(podFiles(given, 2), { ...v2, ...NO_HUGEPAGES_V2 }, `${name}, v2`);
  }
});

test("planPod respects cpuCFSQuota, the period and podPidsLimit", () => {
  const given = pod([container("a", ONE, ONE)]);
  assert.equal(podFiles(given, 1, { cpuCfsQuota: false })["cpu.cfs_quota_us"], "-1");
  assert.equal(podFiles(given, 2, { cpuCfsQuota: false })["cpu.max"], "max 100000");
  assert.equal(podFiles(given, 2, { cpuCfsQuotaPeriodUs: 20_000 })["cpu.max"], "20000 20000");
  assert.equal(podFiles(given, 1, { podPidsLimit: 100 })["pids.max"], "100");
  for (const podPidsLimit of [0, -1]) {
    assert.equal(podFiles(given, 2, { podPidsLimit })["pids.max"], undefined);
  }
  const exclusive = { ...demand(given), exclusiveCpus: true };
  assert.equal(filesOf(planPodGroup(settings(2), exclusive))["cpu.max"], "max 100000");
});

test("planPod allows the huge pages that are requested and no others", () => {
  const given = pod([
    container("a", { ...ONE, "hugepages-2Mi": "4Mi" }, { ...ONE, "hugepages-2Mi": "4Mi" }),
    container("b", { ...ONE, "hugepages-1Gi": "1Gi" }, { ...ONE, "hugepages-1Gi": "1Gi" }),
  ]);
  const files = podFiles(given, 2);
  assert.equal(files["hugetlb.2MB.max"], "4194304");
  assert.equal(files["hugetlb.1GB.max"], undefined, "the machine has no such pages");
});

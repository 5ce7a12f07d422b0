import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FAKE_FACTS } from "../../../test/sim/fake-host.ts";
import type { Container, Pod } from "../../api/generated/types.ts";
import { pageSizeName, pageSizeOfResource, readContainer, readDemand } from "./demand.ts";
import { oomScoreAdj } from "./oom-score.ts";
import { type CgroupOptions, defaultCgroupOptions, settingsFrom } from "./options.ts";
import { expectContainerFiles, memoryHigh, planContainer, swapBytes } from "./plan-container.ts";
import { planNode, planReserved } from "./plan-node.ts";
import { planPod } from "./plan-pod.ts";
import { planQos, planQosStart, reservedLimits, sumTiers } from "./plan-qos.ts";
import { planTree } from "./plan-tree.ts";
import { type CgroupSettings, lessReserved, podsBudget } from "./settings.ts";
import { type CgroupPlan, planWrites } from "./writes.ts";

const GI = 2 ** 30;
const CONTROLLERS = new Set(["cpu", "cpuset", "memory", "pids", "hugetlb"]);

function settings(version: 1 | 2, options: Partial<CgroupOptions> = {}): CgroupSettings {
  return settingsFrom(
    { ...defaultCgroupOptions(version), ...options },
    { version, controllers: CONTROLLERS },
    FAKE_FACTS,
  );
}

type List = Readonly<Record<string, string>>;

function container(name: string, requests?: List, limits?: List, more: Partial<Container> = {}) {
  return {
    name,
    resources: { ...(requests ? { requests } : {}), ...(limits ? { limits } : {}) },
    ...more,
  };
}

function pod(containers: readonly Container[], spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod {
  return { metadata: { name: "p", uid: "u1" }, spec: { containers, ...spec } };
}

function filesOf(plan: CgroupPlan): Record<string, string> {
  return Object.fromEntries(plan.writes.map(({ file, value }) => [file, value]));
}

const demand = (of: Pod) => readDemand(of, of.metadata?.uid ?? "");
const podFiles = (of: Pod, version: 1 | 2, options: Partial<CgroupOptions> = {}) =>
  filesOf(planPod(settings(version, options), demand(of)));

const ONE: List = { cpu: "1", memory: "1Gi" };
const TWO: List = { cpu: "2", memory: "2Gi" };
const NO_HUGEPAGES_V1 = {
  "hugetlb.2MB.limit_in_bytes": "0",
  "hugetlb.2MB.rsvd.limit_in_bytes": "0",
};
const NO_HUGEPAGES_V2 = { "hugetlb.2MB.max": "0", "hugetlb.2MB.rsvd.max": "0" };

test("planPod by class, both versions", () => {
  const rows: readonly [string, Pod, Record<string, string>, Record<string, string>][] = [
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
  assert.equal(filesOf(planPod(settings(2), exclusive))["cpu.max"], "max 100000");
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

test("planPod under MemoryQoS guards what is requested", () => {
  const memoryQos = {
    reservation: "TieredReservation",
    throttlingFactor: 0.9,
    pageBytes: 4096,
  } as const;
  const guaranteed = podFiles(pod([container("a", ONE, ONE)]), 2, { memoryQos });
  assert.equal(guaranteed["memory.min"], "1073741824");
  const burstable = podFiles(pod([container("a", ONE, TWO)]), 2, { memoryQos });
  assert.equal(burstable["memory.low"], "1073741824");
  const v1 = podFiles(pod([container("a", ONE, ONE)]), 1, { memoryQos });
  assert.deepEqual(
    Object.keys(v1).filter((file) => file.startsWith("memory.m")),
    [],
  );
});

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

const GUARANTEED = pod([container("a", ONE, ONE)]);
const BURSTABLE = pod([container("a", ONE, ONE), container("b", ONE, TWO)]);

test("reservedLimits by the reference's example, and with more requested than there is", () => {
  const sums = (guaranteedMemoryBytes: number, burstableMemoryBytes: number) => ({
    burstableCpuMilli: 0,
    guaranteedMemoryBytes,
    burstableMemoryBytes,
  });
  for (const [percent, g, b, burstable, bestEffort] of [
    [100, 1 * GI, 0, 7 * GI, 7 * GI],
    [100, 1 * GI, 2 * GI, 7 * GI, 5 * GI],
    [50, 1 * GI, 2 * GI, 8_053_063_680, 6_979_321_856],
    [0, 1 * GI, 2 * GI, 8 * GI, 8 * GI],
    [33, 1001, 101, 8 * GI - 330, 8 * GI - 330 - 33],
    [100, 6 * GI, 6 * GI, 2 * GI, 0],
    [100, 9 * GI, 0, 0, 0],
  ] as const) {
    assert.deepEqual(reservedLimits(8 * GI, percent, sums(g, b)), {
      burstableBytes: burstable,
      bestEffortBytes: bestEffort,
    });
  }
  assert.equal(reservedLimits(0, 100, sums(1, 1)), undefined);
});

test("planQos writes a limit of nothing as a limit, lifts limits when off, skips what it cannot know", () => {
  const files = (options: Partial<CgroupOptions>, pods: readonly Pod[]) =>
    planQos(settings(2, options), pods.map(demand)).map(filesOf);
  const big = pod([container("a", { memory: "9Gi" }, { memory: "9Gi", cpu: "1" })]);
  const [full] = files({ qosReservedMemoryPercent: 100 }, [
    { ...big, status: { qosClass: "Guaranteed" } },
  ]);
  assert.equal(full?.["memory.max"], "1");
  const [burstable, bestEffort] = files({}, [BURSTABLE]);
  assert.deepEqual(burstable, {
    "cpu.weight": "79",
    "memory.max": "max",
    "hugetlb.2MB.max": "4611686018427387904",
    "hugetlb.2MB.rsvd.max": "4611686018427387904",
  });
  assert.equal(bestEffort?.["cpu.weight"], "1");
  const [unknown] = files({ qosReservedMemoryPercent: 100, kubeReserved: { memory: "8Gi" } }, []);
  assert.equal(unknown?.["memory.max"], undefined);
});

test("planQos under MemoryQoS guards what the classes request, or nothing", () => {
  const files = (reservation: "None" | "TieredReservation") =>
    planQos(settings(2, { memoryQos: { reservation, throttlingFactor: 0.9, pageBytes: 4096 } }), [
      demand(GUARANTEED),
      demand(BURSTABLE),
    ]).map((plan) => [plan.path, filesOf(plan)["memory.min"] ?? filesOf(plan)["memory.low"]]);
  assert.deepEqual(files("TieredReservation"), [
    ["/kubepods", String(3 * GI)],
    ["/kubepods/burstable", String(2 * GI)],
    ["/kubepods/besteffort", undefined],
  ]);
  assert.deepEqual(
    files("None").map(([, value]) => value),
    ["0", "0", undefined],
  );
});

test("planQosStart leaves alone what depends on pods", () => {
  const [burstable, bestEffort] = planQosStart(settings(1)).map(filesOf);
  assert.deepEqual(Object.keys(burstable ?? {}), [
    "hugetlb.2MB.limit_in_bytes",
    "hugetlb.2MB.rsvd.limit_in_bytes",
  ]);
  assert.equal(bestEffort?.["cpu.shares"], "2");
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

const resources = (of: Pod, name: string, version: 1 | 2, options: Partial<CgroupOptions> = {}) => {
  const all = demand(of).containers;
  const found = all.find((one) => one.name === name) ?? readContainer({ name }, "container");
  return planContainer(settings(version, options), demand(of), found);
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
  const exclusive = planContainer(
    settings(1),
    { ...demand(GUARANTEED), exclusiveCpus: true },
    readContainer(container("a", ONE, ONE), "container"),
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
  assert.deepEqual(v2.unified, { "memory.oom.group": "1" });
  assert.deepEqual(resources(given, "a", 2, { singleProcessOomKill: true }).unified, {});
  assert.deepEqual(resources(given, "a", 1).unified, {});
  assert.deepEqual(resources(BURSTABLE, "unknown", 1).hugepageLimits, [
    { pageSize: "2MB", limit: 0n },
  ]);
});

function withSwap(version: 1 | 2, behavior: "NoSwap" | "LimitedSwap"): CgroupSettings {
  return { ...settings(version), swap: { behavior, controlled: true, bytes: 4 * GI } };
}

test("planContainer: swap", () => {
  const burstable = pod([container("a", { memory: "1Gi" })]);
  const swapOf = (given: Pod, version: 1 | 2, behavior: "NoSwap" | "LimitedSwap") => {
    const all = demand(given);
    const [first = readContainer({ name: "x" }, "container")] = all.containers;
    const plan = planContainer(withSwap(version, behavior), all, first);
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
  const [a = readContainer({ name: "x" }, "container")] = demand(burstable).containers;
  assert.equal(swapBytes(withSwap(2, "LimitedSwap"), demand(burstable), a), 536_870_912);
});

const MEMORY_QOS = { reservation: "None", throttlingFactor: 0.9, pageBytes: 4096 } as const;

test("memoryHigh by the reference's vectors", () => {
  const on = settings(2, { memoryQos: MEMORY_QOS });
  const MI = 2 ** 20;
  for (const [request, limit, high] of [
    [GI, 2 * GI, 2_040_107_008],
    [GI, 0, 7_838_314_496],
    [0, 0, 7_730_937_856],
    [128 * MI, 256 * MI, 255_012_864],
    [GI, GI, undefined],
    [4096, 4097, undefined],
  ] as const) {
    assert.equal(memoryHigh(on, request, limit), high, `${request} of ${limit}`);
  }
  assert.equal(memoryHigh(settings(2), GI, 2 * GI), undefined);
});

test("planContainer under MemoryQoS, by policy and class", () => {
  const files = (given: Pod, reservation: "None" | "TieredReservation") => {
    const { unified } = resources(given, "a", 2, {
      memoryQos: { ...MEMORY_QOS, reservation },
      singleProcessOomKill: true,
    });
    return [unified["memory.min"], unified["memory.low"], unified["memory.high"]];
  };
  const burstable = pod([container("a", ONE, TWO)]);
  assert.deepEqual(files(GUARANTEED, "None"), ["0", "0", undefined]);
  assert.deepEqual(files(GUARANTEED, "TieredReservation"), ["1073741824", "0", undefined]);
  assert.deepEqual(files(burstable, "None"), ["0", "0", "2040107008"]);
  assert.deepEqual(files(burstable, "TieredReservation"), ["0", "1073741824", "2040107008"]);
  const v1 = resources(burstable, "a", 1, { memoryQos: MEMORY_QOS });
  assert.deepEqual(v1.unified, {});
});

const score = (given: Pod, name = "a", capacity = 8 * GI) => {
  const all = demand(given);
  const found = all.containers.find((one) => one.name === name);
  assert.ok(found);
  return oomScoreAdj(all, found, capacity);
};
const asking = (memory: string) => pod([container("a", { memory }, { cpu: "1" })]);

test("oomScoreAdj by class and request", () => {
  assert.equal(score(GUARANTEED), -997);
  assert.equal(score(pod([container("a")])), 1000);
  for (const [memory, capacity, value] of [
    ["1Gi", 8, 875],
    ["2Gi", 8, 750],
    ["10Mi", 8, 999],
    ["0", 8, 999],
    ["8Gi", 8, 3],
    ["100Gi", 8, 3],
    ["1Gi", 16, 938],
    ["512Mi", 16, 969],
  ] as const) {
    assert.equal(score(asking(memory), "a", capacity * GI), value, `${memory} of ${capacity}Gi`);
  }
  const critical = { priority: 2_000_001_000, priorityClassName: "system-node-critical" };
  assert.equal(score(pod([container("a", ONE)], critical)), -997);
  assert.equal(score(pod([container("a", ONE)], { ...critical, priority: 1 })), 875);
  assert.equal(
    score(
      pod([container("a", ONE)], { ...critical, priorityClassName: "system-cluster-critical" }),
    ),
    875,
  );
});

test("oomScoreAdj: a sidecar outlives what it serves, unclaimed memory is shared", () => {
  const sidecar = (memory: string) =>
    pod([container("a", { memory: "2Gi" }), container("b", { memory: "1Gi" })], {
      initContainers: [container("s", { memory }, undefined, { restartPolicy: "Always" })],
    });
  assert.equal(score(sidecar("10Mi"), "s"), 875);
  assert.equal(score(sidecar("4Gi"), "s"), 500);
  const whole = pod([container("a", { memory: "1Gi" }), container("b")], {
    resources: { requests: { memory: "3Gi" } },
  });
  assert.equal(score(whole, "a"), 750);
  assert.equal(score(whole, "b"), 875);
});

const amount = fc.integer({ min: 0, max: 4000 });
const anyPods = fc.array(
  fc
    .array(fc.tuple(amount, amount, amount, amount), { minLength: 1, maxLength: 3 })
    .map((list) =>
      pod(
        list.map(([cpu, memory, cpuLimit, memoryLimit], i) =>
          container(
            `c${i}`,
            { cpu: `${cpu}m`, memory: `${memory}Mi` },
            { cpu: `${cpu + cpuLimit}m`, memory: `${memory + memoryLimit}Mi` },
          ),
        ),
      ),
    ),
  { maxLength: 8 },
);

test("the classes' sums are those of their pods, in whatever order", () => {
  fc.assert(
    fc.property(anyPods, (pods) => {
      const demands = pods.map(demand);
      const sums = sumTiers(demands);
      const of = (qos: string) => demands.filter((one) => one.qos === qos);
      const memory = (qos: string) =>
        of(qos).reduce((sum, one) => sum + one.total.requests.memoryBytes, 0);
      assert.equal(sums.guaranteedMemoryBytes, memory("Guaranteed"));
      assert.equal(sums.burstableMemoryBytes, memory("Burstable"));
      assert.equal(
        sums.burstableCpuMilli,
        of("Burstable").reduce((sum, one) => sum + one.total.requests.cpuMilli, 0),
      );
      assert.deepEqual(sumTiers(demands.toReversed()), sums);
    }),
  );
});

test("planTree names each group once, parents first, and only files of the version", () => {
  fc.assert(
    fc.property(anyPods, fc.constantFrom(1, 2), (pods, version) => {
      const demands = pods.map((one, i) => readDemand(one, `uid-${i}`));
      const plans = planTree(
        settings(version as 1 | 2, { qosReservedMemoryPercent: 100 }),
        demands,
      );
      const paths = plans.map((plan) => plan.path);
      assert.equal(new Set(paths).size, paths.length);
      assert.equal(plans.length, 3 + pods.length);
      for (const [index, path] of paths.entries()) {
        const parent = path.slice(0, path.lastIndexOf("/"));
        assert.ok(parent === "" || paths.slice(0, index).includes(parent), `${path} too early`);
      }
      const foreign =
        version === 1 ? /\.weight|\.max$|memory\.(min|low|high)/ : /shares|cfs|_in_bytes/;
      for (const { writes } of plans) {
        for (const { file, value } of writes) {
          assert.ok(file === "pids.max" || !foreign.test(file), file);
          assert.match(value, /^(max|-1|\d+)( \d+)?$/);
        }
      }
    }),
  );
});

test("expectContainerFiles tells both generations of runtimes apart", () => {
  const plan = resources(GUARANTEED, "a", 2);
  const weight = (weights: "linear" | "quadratic") =>
    expectContainerFiles(settings(2), plan, weights).find(({ file }) => file === "cpu.weight");
  assert.equal(weight("linear")?.value, "39");
  assert.equal(weight("quadratic")?.value, "100");
});

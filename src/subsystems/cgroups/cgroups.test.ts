import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FAKE_FACTS, FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import {
  B,
  BE,
  cgroupModule,
  type Fault,
  G,
  runExample,
} from "../../../test/support/cgroup-module.ts";
import { container, GI, ONE, podOf } from "../../../test/support/cgroup-pods.ts";
import { isOutside, OutsideError, UsageError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import type { CgroupTree } from "../../outside/host/host.ts";
import { applyCgroupPlan } from "./apply.ts";
import { Cgroups } from "./cgroups.ts";
import { defaultCgroupOptions } from "./options.ts";
import type { MemoryQos } from "./settings.ts";

const V2_FILES = ["cpu.weight", "cpu.max", "memory.max"];

test("metrics show the memory that is protected for the active pods, with the gate MemoryQoS only", async () => {
  const shown = async (memoryQos: MemoryQos | undefined, version: 1 | 2 = 2) => {
    const { cgroups, metrics } = cgroupModule(version, memoryQos ? { memoryQos } : {});
    await cgroups.start();
    await cgroups.updateQos([G, B, BE]);
    return metrics.expose().match(/^kubelet_memory_qos_.*$/gm) ?? [];
  };
  const values = (min: number, low: number) => [
    `kubelet_memory_qos_node_memory_low_bytes ${low}`,
    `kubelet_memory_qos_node_memory_min_bytes ${min}`,
  ];
  const tiered = { reservation: "TieredReservation", pageBytes: 4096 } as const;
  assert.deepEqual((await shown(tiered)).toSorted(), values(3 * GI, 2 * GI));
  assert.deepEqual((await shown(tiered, 1)).toSorted(), values(0, 0));
  const none = { reservation: "None", pageBytes: 4096 } as const;
  assert.deepEqual((await shown(none)).toSorted(), values(0, 0));
  assert.deepEqual(await shown(undefined), []);
});

test("memory that is protected is given back by a start without the policy", async () => {
  const tiered = { reservation: "TieredReservation", pageBytes: 4096 } as const;
  const { cgroups, tree, host } = cgroupModule(2, { memoryQos: tiered });
  await cgroups.start();
  await cgroups.updateQos([G, B, BE]);
  const values = async () => [
    await tree.read("/kubepods", "memory.min"),
    await tree.read("/kubepods", "memory.low"),
    await tree.read("/kubepods/burstable", "memory.low"),
  ];
  assert.deepEqual(await values(), [3 * GI, 2 * GI, 2 * GI].map(String));
  for (const memoryQos of [{ reservation: "None", pageBytes: 4096 }, undefined] as const) {
    for (const file of ["memory.min", "memory.low"]) host.cgroups.set("/kubepods", file, "4096");
    host.cgroups.set("/kubepods/burstable", "memory.low", "4096");
    const next = new Cgroups(
      { tree, facts: FAKE_FACTS, clock: new SimClock(), log: silentLog },
      { ...defaultCgroupOptions(2), ...(memoryQos ? { memoryQos } : {}) },
    );
    await next.start();
    assert.deepEqual(await values(), ["0", "0", "0"]);
    // Afterwards it is left to those who have set it, and shown.
    host.cgroups.set("/kubepods/burstable", "memory.low", "8192");
    await next.updateQos([G, B, BE]);
    assert.equal(await tree.read("/kubepods/burstable", "memory.low"), "8192");
    const drift = await next.drift([G, B, BE]);
    assert.ok(drift.some(({ file, foreign }) => file === "memory.low" && foreign));
  }
});

test("only a guaranteed pod, then a burstable one: best effort gives way", async () => {
  const { cgroups, tree } = cgroupModule(1, { qosReservedMemoryPercent: 100 });
  const limits = async () => [
    Number(await tree.read("/kubepods/burstable", "memory.limit_in_bytes")) / GI,
    Number(await tree.read("/kubepods/besteffort", "memory.limit_in_bytes")) / GI,
  ];
  await cgroups.start();
  await cgroups.updateQos([G]);
  assert.deepEqual(await limits(), [7, 7]);
  await cgroups.updateQos([G, podOf("x", [container("a", { memory: "2Gi" })])]);
  assert.deepEqual(await limits(), [7, 5]);
  await cgroups.updateQos([]);
  assert.deepEqual(await limits(), [8, 8]);
});

test("a restart changes nothing and keeps the share of pods that run", async () => {
  const { cgroups, tree, host } = cgroupModule(2, { qosReservedMemoryPercent: 100 });
  await runExample(cgroups);
  const before = await snapshot(tree, host.cgroups.paths);
  const again = new Cgroups(
    { tree, facts: FAKE_FACTS, clock: new SimClock(), log: silentLog },
    { ...defaultCgroupOptions(2), qosReservedMemoryPercent: 100 },
  );
  await again.start();
  assert.deepEqual(await snapshot(tree, host.cgroups.paths), before);
  await again.updateQos([G, B, BE]);
  assert.deepEqual(await snapshot(tree, host.cgroups.paths), before);
});

async function snapshot(tree: CgroupTree, paths: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const path of paths) {
    for (const file of V2_FILES) lines.push(`${path} ${file} ${await tree.read(path, file)}`);
  }
  return lines;
}

test("a pod's group that is there is left as it is", async () => {
  const { cgroups, tree } = cgroupModule(2);
  await cgroups.start();
  await cgroups.ensurePod(G);
  await tree.write("/kubepods/podg", "cpu.weight", "77");
  await cgroups.ensurePod(G);
  assert.equal(await tree.read("/kubepods/podg", "cpu.weight"), "77");
  const drift = await cgroups.drift([G]);
  assert.deepEqual(
    drift.filter(({ path }) => path === "/kubepods/podg"),
    [{ path: "/kubepods/podg", file: "cpu.weight", found: "77", wanted: "39" }],
  );
});

test("a pod's group that an agent before left without limits gets them, unless something is in it", async () => {
  for (const holds of [false, true]) {
    const { cgroups, tree } = cgroupModule(2);
    await cgroups.start();
    await tree.create(holds ? "/kubepods/podg/container" : "/kubepods/podg");
    assert.equal(await cgroups.ensurePod(G), false);
    assert.equal(await tree.read("/kubepods/podg", "memory.max"), holds ? "max" : String(2 ** 30));
  }
});

test("a limit the kernel refuses is logged and the pod has its group; no group is an error", async () => {
  let refuse = "cgroup.write /kubepods/podg/memory.max";
  const fault: Fault = (operation, path) =>
    `${operation} ${path}` === refuse ? new OutsideError("invalid", "no") : undefined;
  const { cgroups, tree, warnings } = cgroupModule(2, {}, fault);
  await cgroups.start();
  await cgroups.ensurePod(G);
  assert.equal(await tree.read("/kubepods/podg", "cpu.max"), "100000 100000");
  assert.deepEqual(
    warnings.map((fields) => [fields?.["path"], fields?.["file"]]),
    [["/kubepods/podg", "memory.max"]],
  );
  refuse = "cgroup.create /kubepods/besteffort/podbe";
  await assert.rejects(cgroups.ensurePod(BE), (thrown) => isOutside(thrown, "invalid"));
});

test("limits of classes: v1 takes the usage when refused, v2 stays a little above it", async () => {
  for (const [version, usageFile, limitFile, kept] of [
    [1, "memory.usage_in_bytes", "memory.limit_in_bytes", 7.5 * GI],
    [2, "memory.current", "memory.max", 7.5 * GI + 16 * 2 ** 20],
  ] as const) {
    const { cgroups, tree, host } = cgroupModule(version, { qosReservedMemoryPercent: 100 });
    await cgroups.start();
    await cgroups.updateQos([]);
    host.cgroups.set("/kubepods/besteffort", usageFile, String(7.5 * GI));
    await cgroups.updateQos([G, B, BE]);
    assert.equal(await tree.read("/kubepods/besteffort", limitFile), String(kept));
    assert.equal(await tree.read("/kubepods/burstable", limitFile), String(7 * GI));
    host.cgroups.set("/kubepods/besteffort", usageFile, String(GI));
    await cgroups.updateQos([G, B, BE]);
    assert.equal(await tree.read("/kubepods/besteffort", limitFile), String(5 * GI));
  }
});

test("on v2 a class that fills its limit cannot raise it by and by", async () => {
  const { cgroups, tree, host } = cgroupModule(2, { qosReservedMemoryPercent: 100 });
  await cgroups.start();
  await cgroups.updateQos([]);
  const use = (bytes: number) =>
    host.cgroups.set("/kubepods/besteffort", "memory.current", `${bytes}`);
  const limit = async () => Number(await tree.read("/kubepods/besteffort", "memory.max"));
  const margin = 16 * 2 ** 20;
  for (const [usage, wanted] of [
    [6 * GI, 6 * GI + margin],
    [6 * GI + margin, 6 * GI + margin],
    [5.5 * GI, 5.5 * GI + margin],
    [5 * GI - 1, 5 * GI + margin - 1],
    [5 * GI, 5 * GI + margin - 1],
    [5 * GI - margin, 5 * GI],
    [5 * GI, 5 * GI],
  ] as const) {
    use(usage);
    await cgroups.updateQos([G, B, BE]);
    assert.equal(await limit(), Math.floor(wanted / 4096) * 4096, `with ${usage} in use`);
  }
});

test("overlapping updates share a pass and end with the pods of the latest", async () => {
  let writes = 0;
  const fault: Fault = (operation) => {
    if (operation === "cgroup.write") writes += 1;
    return undefined;
  };
  const { cgroups, tree } = cgroupModule(1, { qosReservedMemoryPercent: 100 }, fault);
  await cgroups.start();
  await Promise.all([cgroups.updateQos([G, B]), cgroups.updateQos([]), cgroups.updateQos([G])]);
  assert.equal(await tree.read("/kubepods/burstable", "cpu.shares"), "2");
  assert.equal(await tree.read("/kubepods/burstable", "memory.limit_in_bytes"), String(7 * GI));
  const before = writes;
  await cgroups.updateQos([G]);
  assert.equal(writes, before, "nothing changed, so nothing is written");
});

test("updateQos does all it can and then names the first that failed", async () => {
  let failing = false;
  const fault: Fault = (operation, path) =>
    failing && operation === "cgroup.write" && path === "/kubepods/burstable/cpu.weight"
      ? new OutsideError("io", `write ${path}`)
      : undefined;
  const { cgroups, tree } = cgroupModule(2, { qosReservedMemoryPercent: 100 }, fault);
  await cgroups.start();
  failing = true;
  await assert.rejects(cgroups.updateQos([G, B]), /burstable\/cpu\.weight/);
  assert.equal(await tree.read("/kubepods/besteffort", "memory.max"), String(5 * GI));
  failing = false;
  await cgroups.updateQos([G, B]);
  assert.equal(await tree.read("/kubepods/burstable", "cpu.weight"), "79");
});

test("start reports when the node's limits fail, and can be retried", async () => {
  let failing = true;
  const fault: Fault = (operation, path) =>
    failing && operation === "cgroup.write" && path === "/kubepods/memory.max"
      ? new OutsideError("io", "the disk of dreams")
      : undefined;
  const { cgroups } = cgroupModule(2, {}, fault);
  assert.deepEqual(await cgroups.start(), { kind: "failed", message: "the disk of dreams" });
  failing = false;
  assert.deepEqual(await cgroups.enforceNode(), { kind: "enforced" });
});

test("start refuses what cannot hold", async () => {
  await assert.rejects(cgroupModule(2, { cgroupRoot: "/missing" }).cgroups.start(), UsageError);
  const reserved = {
    enforceNodeAllocatable: ["pods", "system-reserved"],
    systemReserved: { cpu: "1" },
    systemReservedCgroup: "/system",
  };
  await assert.rejects(
    cgroupModule(2, reserved).cgroups.start(),
    /enforceNodeAllocatable.*\/system/,
  );
  const withSystem = cgroupModule(2, reserved);
  await withSystem.tree.create("/system");
  await withSystem.cgroups.start();
  assert.equal(await withSystem.tree.read("/system", "cpu.weight"), "39");
  const bare = new FakeHost({ clock: new SimClock(), controllers: ["cpu", "pids"] });
  const without = new Cgroups(
    { tree: bare.cgroups, facts: FAKE_FACTS, clock: new SimClock(), log: silentLog },
    defaultCgroupOptions(2),
  );
  await assert.rejects(without.start(), /no memory controller/);
});

test("a configured root is where everything stands", async () => {
  const { cgroups, tree, host } = cgroupModule(2, { cgroupRoot: "/custom-root" });
  await tree.create("/custom-root");
  await cgroups.start();
  await cgroups.ensurePod(B);
  assert.equal(cgroups.podPath(B), "/custom-root/kubepods/burstable/podb");
  assert.deepEqual(host.cgroups.paths, [
    "/",
    "/custom-root",
    "/custom-root/kubepods",
    "/custom-root/kubepods/besteffort",
    "/custom-root/kubepods/burstable",
    "/custom-root/kubepods/burstable/podb",
  ]);
});

test("with cgroupsPerQos off nothing is made and pods go to the root", async () => {
  const { cgroups, host } = cgroupModule(2, { cgroupsPerQos: false, cgroupRoot: "/r" });
  assert.deepEqual(await cgroups.start(), { kind: "enforced" });
  await cgroups.updateQos([G]);
  await cgroups.ensurePod(G);
  await cgroups.removePod("g", "Guaranteed");
  assert.equal(cgroups.podPath(G), "/r");
  assert.deepEqual(await cgroups.listPods(), []);
  assert.deepEqual(host.cgroups.paths, ["/"]);
});

test("podPath of the systemd driver is the whole path of slices", () => {
  const { cgroups } = cgroupModule(2, { driver: "systemd" });
  const pod = podOf("1234-abcd", [container("a", ONE)]);
  assert.equal(
    cgroups.podPath(pod),
    "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1234_abcd.slice",
  );
});

test("containers get swap limits where the kernel can count swap", async () => {
  const { cgroups } = cgroupModule(2);
  const [first] = G.spec?.containers ?? [];
  assert.ok(first);
  assert.equal(cgroups.containerResources(G, first).unified["memory.swap.max"], undefined);
  await cgroups.start();
  assert.equal(cgroups.containerResources(G, first).unified["memory.swap.max"], "0");
  const onV1 = cgroupModule(1);
  await onV1.cgroups.start();
  assert.equal(onV1.cgroups.containerResources(G, first).memorySwapLimitInBytes, BigInt(GI));
});

test("operations are measured", async () => {
  const { cgroups, metrics } = cgroupModule(2);
  await runExample(cgroups);
  await cgroups.removePod("g", "Guaranteed");
  const page = metrics.expose();
  assert.match(page, /kubelet_cgroup_version 2/);
  for (const [operation, count] of [
    ["create", 3],
    ["destroy", 1],
  ] as const) {
    const line = `kubelet_cgroup_manager_duration_seconds_count{operation_type="${operation}"} ${count}`;
    assert.ok(page.includes(line), page);
  }
});

const amounts = fc.record({ cpu: fc.nat(4000), memory: fc.nat(4000), more: fc.nat(1000) });

test("applying any plan leaves nothing to apply", async () => {
  const scenario = fc.record({
    version: fc.constantFrom(1 as const, 2 as const),
    percent: fc.option(fc.nat(100), { nil: undefined }),
    period: fc.constantFrom(1000, 20_000, 100_000, 1_000_000),
    pids: fc.constantFrom(-1, 100),
    pods: fc.array(fc.array(amounts, { minLength: 1, maxLength: 3 }), { maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ version, percent, period, pids, pods }) => {
      const { cgroups, tree } = cgroupModule(version, {
        cpuCfsQuotaPeriodUs: period,
        podPidsLimit: pids,
        ...(percent === undefined ? {} : { qosReservedMemoryPercent: percent }),
      });
      const all = pods.map((list, i) =>
        podOf(
          `p${i}`,
          list.map(({ cpu, memory, more }, at) =>
            container(
              `c${at}`,
              { cpu: `${cpu}m`, memory: `${memory}Mi` },
              { cpu: `${cpu + more}m`, memory: `${memory + more}Mi` },
            ),
          ),
        ),
      );
      for (const plan of cgroups.planTree(all)) {
        const report = await applyCgroupPlan({ tree }, plan);
        assert.deepEqual(report.failed, []);
        const again = await applyCgroupPlan({ tree }, plan);
        assert.deepEqual([again.created, again.written], [false, []]);
      }
      assert.deepEqual(await cgroups.drift(all), []);
    }),
    { numRuns: 60 },
  );
});

test("applyPlan tries once more what only fits when something else is set", async () => {
  let quotaSet = false;
  const fault: Fault = (operation, path) => {
    if (operation !== "cgroup.write") return undefined;
    if (path.endsWith("cfs_quota_us")) quotaSet = true;
    const early = path.endsWith("cfs_period_us") && !quotaSet;
    return early ? new OutsideError("invalid", "quota of old does not fit") : undefined;
  };
  const { tree } = cgroupModule(1, {}, fault);
  const report = await applyCgroupPlan(
    { tree },
    {
      path: "/kubepods",
      kind: "pod",
      create: true,
      writes: [
        { file: "cpu.cfs_period_us", value: "50000" },
        { file: "cpu.cfs_quota_us", value: "25000" },
      ],
    },
  );
  assert.deepEqual(report.failed, []);
  assert.equal(await tree.read("/kubepods", "cpu.cfs_period_us"), "50000");
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { test } from "node:test";
import { FAKE_FACTS } from "../../../test/sim/fake-host.ts";
import { B, BE, cgroupModule, G, runExample } from "../../../test/support/cgroup-module.ts";
import { settings } from "../../../test/support/cgroup-pods.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { createSystemClock } from "../../kit/clock.ts";
import { silentLog } from "../../kit/log.ts";
import { connectHost } from "../../outside/host/connect-host.ts";
import type { CgroupTree } from "../../outside/host/host.ts";
import { Cgroups } from "./cgroups.ts";
import { defaultCgroupOptions } from "./options.ts";
import { expectContainerFiles, type RuntimeWeights } from "./plan/plan-container.ts";

/** Shares, quota, period, memory limit; weight, cpu.max, memory.max. */
type Row = readonly [string, string, string, string, string, string, string, string];

const FREE = "9223372036854771712";

/** The Go kubelet's worked example, 3 CPUs and 8 GiB; `%` marks the limits by `qosReserved`. */
const EXAMPLE: readonly Row[] = [
  ["/kubepods", "3072", "-1", "100000", "8589934592", "118", "max 100000", "8589934592"],
  ["/kubepods/podg", "1024", "100000", "100000", "1073741824", "39", "100000 100000", "1073741824"],
  ["/kubepods/burstable", "2048", "-1", "100000", "%burstable", "79", "max 100000", "%burstable"],
  [
    "/kubepods/burstable/podb",
    "2048",
    "300000",
    "100000",
    "3221225472",
    "79",
    "300000 100000",
    "3221225472",
  ],
  ["/kubepods/besteffort", "2", "-1", "100000", "%besteffort", "1", "max 100000", "%besteffort"],
  ["/kubepods/besteffort/podbe", "2", "-1", "100000", FREE, "1", "max 100000", "max"],
];

/** Percent, burstable, best effort. */
const RESERVED = [
  [100, "7516192768", "5368709120"],
  [50, "8053063680", "6979321856"],
  [undefined, FREE, FREE],
] as const;

const V1_FILES = ["cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.limit_in_bytes"];
const V2_FILES = ["cpu.weight", "cpu.max", "memory.max"];

async function checkExample(
  tree: CgroupTree,
  root: string,
  limits: readonly [string, string],
): Promise<void> {
  const files = tree.version === 1 ? V1_FILES : V2_FILES;
  for (const [path, ...row] of EXAMPLE) {
    const values = tree.version === 1 ? row.slice(0, 4) : row.slice(4);
    for (const [index, file] of files.entries()) {
      const expected = (values[index] ?? "")
        .replace("%burstable", limits[0])
        .replace("%besteffort", limits[1])
        .replace(FREE, tree.version === 1 ? FREE : "max");
      assert.equal(await tree.read(`${root}${path}`, file), expected, `${path} ${file}`);
    }
  }
}

for (const version of [1, 2] as const) {
  for (const [percent, burstable, bestEffort] of RESERVED) {
    test(`the worked example on v${version} with qosReserved ${percent}`, async () => {
      const options = percent === undefined ? {} : { qosReservedMemoryPercent: percent };
      const { cgroups, tree } = cgroupModule(version, options);
      await runExample(cgroups);
      await checkExample(tree, "", [burstable, bestEffort]);
      assert.deepEqual(await cgroups.drift([G, B, BE]), []);
    });
  }
}

test("the worked example's containers", () => {
  const rows: readonly [IdentifiedPod, string, 1 | 2, RuntimeWeights, Record<string, string>][] = [
    [G, "container3", 1, "linear", v1("1024", "100000", "1073741824")],
    [B, "container1", 1, "linear", v1("1024", "100000", "1073741824")],
    [B, "container2", 1, "linear", v1("1024", "200000", "2147483648")],
    [BE, "container", 1, "linear", v1("2", "-1", "-1")],
    [G, "container3", 2, "linear", v2("39", "100000 100000", "1073741824")],
    [G, "container3", 2, "quadratic", v2("100", "100000 100000", "1073741824")],
    [B, "container2", 2, "quadratic", v2("100", "200000 100000", "2147483648")],
    [BE, "container", 2, "quadratic", v2("1", "max 100000", "max")],
  ];
  for (const [pod, name, version, weights, expected] of rows) {
    const { cgroups } = cgroupModule(version, { singleProcessOomKill: true });
    const found = pod.spec?.containers.find((one) => one.name === name);
    assert.ok(found);
    const writes = expectContainerFiles(
      settings(version),
      cgroups.containerResources(pod, found),
      weights,
    );
    const shown = writes.filter(({ file }) => !file.startsWith("hugetlb."));
    assert.deepEqual(Object.fromEntries(shown.map(({ file, value }) => [file, value])), expected);
  }
  function v1(shares: string, quota: string, memory: string) {
    return {
      "cpu.shares": shares,
      "cpu.cfs_period_us": "100000",
      "cpu.cfs_quota_us": quota,
      "memory.limit_in_bytes": memory,
    };
  }
  function v2(weight: string, max: string, memory: string) {
    return { "cpu.weight": weight, "cpu.max": max, "memory.high": "max", "memory.max": memory };
  }
});

async function realTree(): Promise<{ tree: CgroupTree; root: string }> {
  const host = connectHost({ clock: createSystemClock(), log: silentLog });
  const root = `/cgroups-${randomBytes(6).toString("hex")}`;
  await host.cgroups.create(root);
  return { tree: host.cgroups, root };
}

const notRoot = process.getuid?.() !== 0 && "needs root: cgroups of the machine are made";

test("the worked example on the real kernel, its life and its end", { skip: notRoot }, async () => {
  const { tree, root } = await realTree();
  try {
    for (const [percent, burstable, bestEffort] of RESERVED) {
      const cgroups = new Cgroups(
        { tree, facts: FAKE_FACTS, clock: createSystemClock(), log: silentLog },
        {
          ...defaultCgroupOptions(tree.version),
          cgroupRoot: root,
          ...(percent === undefined ? {} : { qosReservedMemoryPercent: percent }),
        },
      );
      await runExample(cgroups);
      await checkExample(tree, root, [burstable, bestEffort]);
      assert.deepEqual(await cgroups.drift([G, B, BE]), []);
      await checkRealLife(cgroups, tree);
    }
  } finally {
    await tree.destroy(root);
  }
  assert.equal(await tree.exists(root), false);
});

async function checkRealLife(cgroups: Cgroups, tree: CgroupTree): Promise<void> {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  const ended = once(child, "exit");
  await once(child, "spawn");
  await tree.create(`${cgroups.podPath(B)}/inner`);
  await tree.write(`${cgroups.podPath(B)}/inner`, "cgroup.procs", String(child.pid));
  await clearsOnlyTheRemoved(cgroups, tree);
  assert.deepEqual(await cgroups.podProcesses("b"), [child.pid]);
  const listed = (await cgroups.listPods()).map(({ uid, qos }) => `${qos} ${uid}`);
  assert.deepEqual(listed, ["Guaranteed g", "Burstable b", "BestEffort be"]);
  await cgroups.squeezePod("b", "Burstable");
  const [file, least] = tree.version === 1 ? ["cpu.shares", "2"] : ["cpu.weight", "1"];
  assert.equal(await tree.read(cgroups.podPath(B), file ?? ""), least);
  await cgroups.removePod("b", "Burstable");
  await cgroups.removePod("b", "Burstable");
  assert.deepEqual((await ended)[1], "SIGKILL");
  assert.equal(await tree.exists(cgroups.podPath(B)), false);
}

/** Kills processes of a removed container; its neighbours keep running, whatever the id. */
async function clearsOnlyTheRemoved(cgroups: Cgroups, tree: CgroupTree): Promise<void> {
  const pod = cgroups.podPath(B);
  for (const name of ["c0ffee", "cri-containerd-c0ffee.scope"]) {
    const left = spawn("sleep", ["1000"], { stdio: "ignore" });
    const ended = once(left, "exit");
    await once(left, "spawn");
    await tree.create(`${pod}/${name}`);
    await tree.write(`${pod}/${name}`, "cgroup.procs", String(left.pid));
    for (const id of ["", "c0ff", "inn"]) await cgroups.clearRemoved(B, id);
    assert.ok((await cgroups.podProcesses("b")).includes(left.pid ?? 0));
    await cgroups.clearRemoved(B, "c0ffee");
    assert.deepEqual((await ended)[1], "SIGKILL");
  }
  assert.deepEqual(await tree.children(pod), ["inner"]);
}

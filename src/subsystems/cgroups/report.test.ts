import assert from "node:assert/strict";
import { test } from "node:test";
import { B, cgroupModule, G, runExample } from "../../../test/support/cgroup-module.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";

/** The pod with its containers running under the given ids. */
function running(pod: IdentifiedPod, ids: Readonly<Record<string, string>>): IdentifiedPod {
  const containerStatuses = Object.entries(ids).map(([name, id]) => ({
    name,
    containerID: `containerd://${id}`,
    state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
    ready: true,
    restartCount: 0,
    image: "i",
    imageID: "i",
  }));
  return { ...pod, status: { containerStatuses } } as IdentifiedPod;
}

async function withContainer(weight: string) {
  const at = cgroupModule(2, { singleProcessOomKill: true });
  await runExample(at.cgroups);
  const path = "/kubepods/podg/cri-containerd-c3.scope";
  await at.tree.create(path);
  await at.tree.write(path, "cpu.weight", weight);
  await at.tree.write(path, "cpu.max", "100000 100000");
  await at.tree.write(path, "memory.max", String(2 ** 30));
  await at.tree.write(path, "memory.swap.max", "0");
  for (const name of ["max", "rsvd.max"]) await at.tree.write(path, `hugetlb.2MB.${name}`, "0");
  return { ...at, path };
}

for (const [weight, formula] of [
  ["39", "linear"],
  ["100", "quadratic"],
] as const) {
  test(`report finds out that the runtime's weights are ${formula}`, async () => {
    const { cgroups, path } = await withContainer(weight);
    const report = await cgroups.report([running(G, { container3: "c3" })]);
    assert.equal(report.runtimeWeights, formula);
    const container = report.groups.find((group) => group.path === path);
    assert.deepEqual([container?.kind, container?.container], ["container", "container3"]);
    assert.deepEqual(
      container?.values.filter(({ state }) => state !== "same"),
      [],
    );
  });
}

test("report says what the runtime has set otherwise, and repair leaves that alone", async () => {
  const { cgroups, tree, path } = await withContainer("77");
  const pods = [running(G, { container3: "c3" }), B];
  const odd = (await cgroups.report(pods)).groups.flatMap(({ path: of, values }) =>
    values.filter(({ state }) => state !== "same").map((value) => ({ of, ...value })),
  );
  assert.deepEqual(odd, [
    { of: path, file: "cpu.weight", found: "77", wanted: "100", state: "runtime" },
  ]);
  assert.deepEqual(await cgroups.repair(pods), []);
  assert.equal(await tree.read(path, "cpu.weight"), "77");
});

test("limits of huge pages that the runtime leaves to the pod are no difference", async () => {
  const { cgroups, tree, path } = await withContainer("100");
  const odd = async () =>
    (await cgroups.report([running(G, { container3: "c3" }), B])).groups
      .flatMap(({ values }) => values.filter(({ state }) => state !== "same"))
      .map(({ file }) => file);
  for (const name of ["max", "rsvd.max"]) await tree.write(path, `hugetlb.2MB.${name}`, "max");
  assert.deepEqual(await odd(), []);
  await tree.write(path, "hugetlb.2MB.max", "2097152");
  assert.deepEqual(await odd(), ["hugetlb.2MB.max"], "but what it has set counts");
});

test("repair writes what differs on groups that are there, and makes none", async () => {
  const { cgroups, tree } = cgroupModule(1);
  await runExample(cgroups);
  await cgroups.removePod("b", "Burstable");
  await tree.write("/kubepods/podg", "cpu.shares", "5");
  await tree.write("/kubepods/burstable", "cpu.cfs_quota_us", "5000");
  const written = await cgroups.repair([G, B]);
  assert.deepEqual(
    written.map(({ path, file, found, wanted }) => [path, file, found, wanted]),
    [
      ["/kubepods/burstable", "cpu.cfs_quota_us", "5000", "-1"],
      ["/kubepods/podg", "cpu.shares", "5", "1024"],
    ],
  );
  assert.equal(await tree.exists("/kubepods/burstable/podb"), false);
  const missing = (await cgroups.report([G, B])).groups.find(({ path }) => path.endsWith("podb"));
  assert.equal(missing?.exists, false);
});

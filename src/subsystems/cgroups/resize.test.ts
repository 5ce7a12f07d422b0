import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cgroupModule, type Fault } from "../../../test/support/cgroup-module.ts";
import { container, demand, filesOf, podOf, settings } from "../../../test/support/cgroup-pods.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { OutsideError } from "../../kit/errors.ts";
import type { ContainerResources } from "./plan/plan-container.ts";
import { planPodGroup } from "./plan/plan-pod.ts";
import { planGroupResize, planUpdates, type ResizeStep } from "./plan/plan-resize.ts";

const UID = "r";
const MI = 1_048_576n;

function sized(cpu: number, memory: number, more = { cpu: 0, memory: 0 }): IdentifiedPod {
  const list = (addCpu: number, addMemory: number) => ({
    cpu: `${cpu + addCpu}m`,
    memory: `${memory + addMemory}Mi`,
  });
  return podOf(UID, [container("a", list(0, 0), list(more.cpu, more.memory))]);
}

/** Values that the kernel shows for a cgroup that was created for `pod`. */
const shownFor = (version: 1 | 2, pod: IdentifiedPod): ReadonlyMap<string, string> => {
  const { writes } = planPodGroup(settings(version), demand(pod));
  return new Map(writes.map(({ file, value }) => [file, value]));
};

const demandOf = (version: 1 | 2, from: IdentifiedPod, to: IdentifiedPod, group = from) => ({
  from: demand(from),
  to: demand(to),
  found: shownFor(version, group),
  updateAll: false,
});

const shown = (step: ResizeStep) =>
  step.kind === "containers"
    ? `${step.resource} containers`
    : `${step.resource} ${step.part} ${Object.entries(filesOf(step.plan))
        .map(([file, value]) => `${file}=${value}`)
        .join(" ")}`;

const stepsOf = (version: 1 | 2, from: IdentifiedPod, to: IdentifiedPod) =>
  planGroupResize(settings(version), demandOf(version, from, to)).map(shown);

test("planResize grows the pod before its containers and shrinks it after them", () => {
  const small = sized(100, 100);
  const large = sized(200, 200);
  assert.deepEqual(stepsOf(1, small, large), [
    "memory limit memory.limit_in_bytes=209715200",
    "memory containers",
    "cpu limit cpu.cfs_period_us=100000 cpu.cfs_quota_us=20000",
    "cpu request cpu.shares=204",
    "cpu containers",
  ]);
  assert.deepEqual(stepsOf(2, large, small), [
    "memory containers",
    "memory limit memory.max=104857600",
    "cpu containers",
    "cpu request cpu.weight=4",
    "cpu limit cpu.max=10000 100000",
  ]);
  assert.deepEqual(stepsOf(2, small, small), []);
});

test("planResize goes by what the group has, which may be further than the containers", () => {
  const [small, large] = [sized(100, 100), sized(200, 200)];
  const demands = demandOf(2, small, large, large);
  assert.deepEqual(planGroupResize(settings(2), demands).map(shown), [
    "memory containers",
    "cpu containers",
  ]);
});

test("a change after one that failed half way sets all values requested last", async () => {
  let failing = true;
  const fault: Fault = (operation, path) =>
    failing && operation === "cgroup.write" && path.endsWith("cpu.max")
      ? new OutsideError("io", "no")
      : undefined;
  const small = sized(100, 100);
  const { cgroups, tree, path, request, updates } = await resizing(small, sized(200, 200), fault);
  assert.equal((await cgroups.resizePod(request)).kind, "failed");
  failing = false;
  updates.length = 0;
  // Back to what is written down as what they have.
  const back = { ...request, to: small, updateAll: true };
  assert.equal((await cgroups.resizePod(back)).kind, "done");
  assert.deepEqual(updates, ["c1 10000 100", "c1 10000 100"]);
  assert.equal(await tree.read(path, "memory.max"), String(100 * 2 ** 20));
});

test("planUpdates: who gets less comes first, and only whose values change", () => {
  const two = (a: string, b: string, own?: string) =>
    podOf(
      UID,
      [
        container("a", { cpu: a, memory: "64Mi" }, { cpu: a }),
        container("b", { cpu: b }, { cpu: b, memory: "1Gi" }),
        container("c"),
      ],
      own === undefined ? {} : { resources: { limits: { memory: own } } },
    );
  const names = (from: IdentifiedPod, to: IdentifiedPod, resource: "cpu" | "memory") =>
    planUpdates(settings(2), demandOf(2, from, to), resource).map(({ name }) => name);
  assert.deepEqual(names(two("1", "2"), two("2", "1"), "cpu"), ["b", "a"]);
  assert.deepEqual(names(two("2", "1"), two("1", "2"), "cpu"), ["a", "b"]);
  assert.deepEqual(names(two("1", "2"), two("2", "1"), "memory"), []);
  // The pod's own limit is that of containers without one.
  assert.deepEqual(names(two("1", "1", "2Gi"), two("1", "1", "3Gi"), "memory"), ["a", "c"]);
});

test("at every step no container has more than its pod", () => {
  const side = fc.record({
    cpu: fc.integer({ min: 10, max: 4000 }),
    memory: fc.integer({ min: 10, max: 4000 }),
    more: fc.record({ cpu: fc.nat(500), memory: fc.nat(500) }),
  });
  fc.assert(
    fc.property(side, side, (a, b) => {
      const [from, to] = [sized(a.cpu, a.memory, a.more), sized(b.cpu, b.memory, b.more)];
      const limits = { group: a.memory + a.more.memory, containers: a.memory + a.more.memory };
      for (const step of planGroupResize(settings(2), demandOf(2, from, to))) {
        if (step.resource !== "memory") continue;
        if (step.kind === "containers") limits.containers = b.memory + b.more.memory;
        else if (step.part === "limit") limits.group = b.memory + b.more.memory;
        assert.ok(limits.containers <= limits.group);
      }
      assert.deepEqual(limits, {
        group: b.memory + b.more.memory,
        containers: b.memory + b.more.memory,
      });
    }),
  );
});

async function resizing(from: IdentifiedPod, to: IdentifiedPod, fault?: Fault) {
  const at = cgroupModule(2, {}, fault);
  await at.cgroups.start();
  await at.cgroups.ensurePod(from);
  const path = at.cgroups.podPath(from);
  await at.tree.create(`${path}/cri-containerd-c1.scope`);
  const updates: string[] = [];
  const request = {
    from,
    to,
    updateAll: false,
    containers: [{ name: "a", id: "c1" }],
    updateContainer: async (id: string, resources: ContainerResources) => {
      const { cpuQuota, memoryLimitInBytes } = resources;
      updates.push(`${id} ${cpuQuota} ${memoryLimitInBytes / MI}`);
    },
  };
  return { ...at, path, updates, request };
}

test("resizePod writes the new limits and leaves nothing to do", async () => {
  const to = sized(300, 300);
  const { cgroups, tree, path, updates, request } = await resizing(sized(100, 100), to);
  const outcome = await cgroups.resizePod(request);
  assert.equal(outcome.kind, "done");
  assert.deepEqual(updates, ["c1 10000 300", "c1 30000 300"]);
  assert.equal(await tree.read(path, "memory.max"), String(300 * 2 ** 20));
  assert.equal(await tree.read(path, "cpu.max"), "30000 100000");
  assert.deepEqual(
    (await cgroups.drift([to])).filter((one) => one.path === path),
    [],
  );
});

test("resizePod refuses to cut below what is in use, and changes nothing then", async () => {
  for (const group of ["", "/cri-containerd-c1.scope"]) {
    const { cgroups, host, tree, path, updates, request } = await resizing(
      sized(100, 300),
      sized(100, 100),
    );
    host.cgroups.set(`${path}${group}`, "memory.current", String(200 * 2 ** 20));
    assert.deepEqual(await cgroups.resizePod(request), {
      kind: "refused",
      message: `cannot decrease memory limits: attempting to set ${group === "" ? "pod" : 'container "a"'} memory limit (104857600) below current usage (209715200)`,
    });
    assert.deepEqual(updates, []);
    assert.equal(await tree.read(path, "memory.max"), String(300 * 2 ** 20));
  }
});

test("resizePod refuses to lower a limit while the usage is not known", async () => {
  for (const [hidden, message] of [
    [[""], "missing pod memory usage"],
    [["/cri-containerd-c1.scope"], 'missing container "a" memory usage'],
    [
      ["", "/cri-containerd-c1.scope"],
      '[missing pod memory usage, missing container "a" memory usage]',
    ],
  ] as const)
    for (const value of [undefined, "", "none"]) {
      const { cgroups, host, tree, path, updates, request } = await resizing(
        sized(100, 300),
        sized(100, 100),
      );
      for (const group of hidden) {
        if (value === undefined) host.cgroups.hide(`${path}${group}`, "memory.current");
        else host.cgroups.set(`${path}${group}`, "memory.current", value);
      }
      assert.deepEqual(await cgroups.resizePod(request), {
        kind: "refused",
        message: `cannot decrease memory limits: ${message}`,
      });
      assert.deepEqual(updates, []);
      assert.equal(await tree.read(path, "memory.max"), String(300 * 2 ** 20));
    }
});

test("resizePod raises a limit whether or not the usage is known", async () => {
  const { cgroups, host, path, request } = await resizing(sized(100, 100), sized(100, 300));
  host.cgroups.set(`${path}/cri-containerd-c1.scope`, "memory.max", String(100 * 2 ** 20));
  for (const group of ["", "/cri-containerd-c1.scope"])
    host.cgroups.set(`${path}${group}`, "memory.current", "");
  assert.equal((await cgroups.resizePod(request)).kind, "done");
});

test("resizePod stops at what fails and can be tried again", async () => {
  let failing = false;
  const fault: Fault = (operation, path) =>
    failing && operation === "cgroup.write" && path.endsWith("cpu.max")
      ? new OutsideError("io", "no")
      : undefined;
  const { cgroups, tree, path, request } = await resizing(sized(100, 100), sized(200, 200), fault);
  failing = true;
  const outcome = await cgroups.resizePod(request);
  assert.deepEqual(outcome, {
    kind: "failed",
    message: "cpu limit of the pod: no",
    steps: ["memory limit of the pod", "memory of the containers"],
  });
  failing = false;
  assert.equal((await cgroups.resizePod(request)).kind, "done");
  assert.equal(await tree.read(path, "cpu.max"), "20000 100000");
});

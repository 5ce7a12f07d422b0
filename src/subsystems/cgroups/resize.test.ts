import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { container, demand, filesOf, podOf, settings } from "../../../test/support/cgroup-pods.ts";
import { type Fault, room } from "../../../test/support/cgroup-room.ts";
import type { Pod } from "../../api/generated/types.ts";
import { OutsideError } from "../../kit/errors.ts";
import { planResize, type ResizeStep } from "./plan-resize.ts";

const UID = "r";

function sized(cpu: number, memory: number, more = { cpu: 0, memory: 0 }): Pod {
  const list = (addCpu: number, addMemory: number) => ({
    cpu: `${cpu + addCpu}m`,
    memory: `${memory + addMemory}Mi`,
  });
  return podOf(UID, [container("a", list(0, 0), list(more.cpu, more.memory))]);
}

const shown = (step: ResizeStep) =>
  step.kind === "containers"
    ? `${step.resource} containers`
    : `${step.resource} ${step.part} ${Object.entries(filesOf(step.plan))
        .map(([file, value]) => `${file}=${value}`)
        .join(" ")}`;

const stepsOf = (version: 1 | 2, from: Pod, to: Pod) =>
  planResize(settings(version), demand(from), demand(to)).map(shown);

test("planResize grows the pod before its containers and shrinks it after them", () => {
  const small = sized(100, 100);
  const large = sized(200, 200);
  assert.deepEqual(stepsOf(1, small, large), [
    "memory limit memory.limit_in_bytes=209715200",
    "memory request ",
    "memory containers",
    "cpu limit cpu.cfs_period_us=100000 cpu.cfs_quota_us=20000",
    "cpu request cpu.shares=204",
    "cpu containers",
  ]);
  assert.deepEqual(stepsOf(2, large, small), [
    "memory containers",
    "memory request ",
    "memory limit memory.max=104857600",
    "cpu containers",
    "cpu request cpu.weight=4",
    "cpu limit cpu.max=10000 100000",
  ]);
  assert.deepEqual(stepsOf(2, small, small), []);
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
      for (const step of planResize(settings(2), demand(from), demand(to))) {
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

async function resizing(from: Pod, to: Pod, fault?: Fault) {
  const at = room(2, {}, fault);
  await at.cgroups.start();
  await at.cgroups.ensurePod(from, UID);
  const path = at.cgroups.podPath(from, UID);
  await at.tree.create(`${path}/cri-containerd-c1.scope`);
  const told: string[] = [];
  const order = {
    from,
    to,
    containers: [{ name: "a", id: "c1" }],
    updateContainers: async (resource: string) => {
      told.push(resource);
    },
  };
  return { ...at, path, told, order };
}

test("resizePod writes the new limits and leaves nothing to do", async () => {
  const to = sized(300, 300);
  const { cgroups, tree, path, told, order } = await resizing(sized(100, 100), to);
  const outcome = await cgroups.resizePod(order);
  assert.equal(outcome.kind, "done");
  assert.deepEqual(told, ["memory", "cpu"]);
  assert.equal(await tree.read(path, "memory.max"), String(300 * 2 ** 20));
  assert.equal(await tree.read(path, "cpu.max"), "30000 100000");
  assert.deepEqual(
    (await cgroups.drift([to])).filter((one) => one.path === path),
    [],
  );
});

test("resizePod refuses to cut below what is in use, and changes nothing then", async () => {
  for (const group of ["", "/cri-containerd-c1.scope"]) {
    const { cgroups, host, tree, path, told, order } = await resizing(
      sized(100, 300),
      sized(100, 100),
    );
    host.cgroups.set(`${path}${group}`, "memory.current", String(200 * 2 ** 20));
    assert.deepEqual(await cgroups.resizePod(order), {
      kind: "refused",
      message: `attempting to set ${group === "" ? "pod" : 'container "a"'} memory limits (104857600) below current usage (209715200)`,
    });
    assert.deepEqual(told, []);
    assert.equal(await tree.read(path, "memory.max"), String(300 * 2 ** 20));
  }
});

test("resizePod stops at what fails and can be tried again", async () => {
  let failing = false;
  const fault: Fault = (operation, path) =>
    failing && operation === "cgroup.write" && path.endsWith("cpu.max")
      ? new OutsideError("io", "no")
      : undefined;
  const { cgroups, tree, path, order } = await resizing(sized(100, 100), sized(200, 200), fault);
  failing = true;
  const outcome = await cgroups.resizePod(order);
  assert.deepEqual(outcome, {
    kind: "failed",
    message: "cpu limit of the pod: no",
    steps: ["memory limit of the pod", "memory request of the pod", "memory of the containers"],
  });
  failing = false;
  assert.equal((await cgroups.resizePod(order)).kind, "done");
  assert.equal(await tree.read(path, "cpu.max"), "20000 100000");
});

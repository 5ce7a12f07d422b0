// Machines as they come: reservations, and cgroups that cannot be written.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Box, withBox } from "../box/box.ts";
import { cgroupRoots } from "../box/prerequisites.ts";
import { BoxedAgent } from "../support/agent.ts";
import { disguise, groupValue } from "../support/cgroup-box.ts";

const GI = 2 ** 30;
const MI = 2 ** 20;
const { version } = cgroupRoots();
const MEMORY_LIMIT = version === 1 ? "memory.limit_in_bytes" : "memory.max";
const CPU = version === 1 ? "cpu.shares" : "cpu.weight";

const makeGroup = (name: string) =>
  version === 1
    ? `for one in /sys/fs/cgroup/*/; do mkdir -p "$one"${name}; done`
    : `mkdir -p /sys/fs/cgroup/${name}`;

test("reservations: pods get what is left, and the machine's own groups are limited", () =>
  withBox({}, async (box) => {
    await disguise(box, { cpus: 3, memoryBytes: 8 * GI });
    await box.run(["sh", "-c", `${makeGroup("system.parts")}; ${makeGroup("kube-parts")}`]);
    await BoxedAgent.start(box, {
      config: `
systemReserved: {cpu: 500m, memory: 512Mi}
kubeReserved: {cpu: 250m, memory: 256Mi}
systemReservedCgroup: /system.parts
kubeReservedCgroup: /kube-parts
enforceNodeAllocatable: [pods, system-reserved, kube-reserved-compressible]`,
    });
    const value = (path: string, file: string) => groupValue(box, path, file);
    // 3 - 0.75 CPUs; 8 GiB - 768 MiB.
    assert.equal(value("/kubepods", CPU), version === 1 ? "2304" : "88");
    assert.equal(value("/kubepods", MEMORY_LIMIT), `${8 * GI - 768 * MI}`);
    assert.equal(value("/system.parts", CPU), version === 1 ? "512" : "20");
    assert.equal(value("/system.parts", MEMORY_LIMIT), `${512 * MI}`);
    assert.equal(value("/kube-parts", CPU), version === 1 ? "256" : "10");
    const free = version === 1 ? "9223372036854771712" : "max";
    assert.equal(value("/kube-parts", MEMORY_LIMIT), free, "only CPU is compressible");
  }));

test("a reservation for a group that is not there ends the start with what to do", () =>
  withBox({}, async (box) => {
    const config = `systemReserved: {cpu: 500m}
systemReservedCgroup: /nowhere
enforceNodeAllocatable: [pods, system-reserved]`;
    const stated = await refusal(box, config);
    assert.match(stated, /enforceNodeAllocatable: a reservation cannot be enforced: .*\/nowhere/);
  }));

test("cgroups that cannot be written are reported, and nothing is created", () =>
  withBox({}, async (box) => {
    const remount =
      'grep " /sys/fs/cgroup" /proc/self/mounts | while read -r _ at type _; do case $type in cgroup*) mount -o remount,ro,bind "$at";; esac; done';
    await box.run(["sh", "-c", remount]);
    const stated = await refusal(box, "");
    assert.match(stated, /kubepods.*(EROFS|read-only)/);
    assert.equal(groupValue(box, "/kubepods", "cgroup.procs"), undefined);
  }));

/** What the agent says when it will not start. */
async function refusal(box: Box, config: string): Promise<string> {
  try {
    await BoxedAgent.start(box, { config });
  } catch (error) {
    return String(error);
  }
  throw new Error("the agent has started");
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { isOutside } from "../../src/kit/errors.ts";
import type { CgroupTree } from "../../src/outside/host/host.ts";
import { type Current, eventually, rejectsWith } from "./host-under-test.ts";

/** What every `CgroupTree` must do. */
export function cgroupContract(at: Current): void {
  groupLives(at);
  groupValues(at);
  groupReadings(at);
  groupProcesses(at);
}

function groupLives(at: Current) {
  test("create makes all levels, exists and children see them, destroy takes them", async () => {
    const { host, group } = at();
    const tree = host.cgroups;
    assert.equal(await tree.exists(group), false);
    assert.deepEqual(await tree.children(group), []);
    await tree.create(`${group}/b/deep`);
    await tree.create(`${group}/a`);
    await tree.create(`${group}/a`);
    assert.equal(await tree.exists(`${group}/b/deep`), true);
    assert.deepEqual(await tree.children(group), ["a", "b"]);
    await tree.destroy(group);
    await tree.destroy(group);
    assert.equal(await tree.exists(`${group}/b/deep`), false);
    assert.equal(await tree.exists(group), false);
  });

  test("paths and file names that lead elsewhere are refused, and the root stays", async () => {
    const { host, group } = at();
    const tree = host.cgroups;
    await rejectsWith(tree.create(`${group}/../x`), "invalid");
    await rejectsWith(tree.create("relative"), "invalid");
    await rejectsWith(tree.destroy("/"), "invalid");
    await rejectsWith(tree.destroy(`${group}/..`), "invalid");
    await rejectsWith(tree.read("/", "../cpu.shares"), "invalid");
    await rejectsWith(tree.write("/", "a/b", "1"), "invalid");
  });
}

/** Values as written and as the kernel spells them. */
const VALUES: Readonly<Record<1 | 2, readonly (readonly [string, string, string])[]>> = {
  1: [
    ["cpu.shares", "3072", "3072"],
    ["cpu.shares", "1", "2"],
    ["cpu.shares", "999999999", "262144"],
    ["cpu.cfs_period_us", "50000", "50000"],
    ["cpu.cfs_quota_us", "25000", "25000"],
    ["cpu.cfs_quota_us", "-1", "-1"],
    ["memory.limit_in_bytes", "1073741824", "1073741824"],
    ["memory.limit_in_bytes", "1073741825", "1073741824"],
    ["memory.limit_in_bytes", "-1", "9223372036854771712"],
    ["pids.max", "77", "77"],
    ["pids.max", "max", "max"],
  ],
  2: [
    ["cpu.weight", "39", "39"],
    ["cpu.max", "25000 50000", "25000 50000"],
    ["cpu.max", "max", "max 50000"],
    ["memory.max", "1073741825", "1073741824"],
    ["memory.max", "max", "max"],
    ["memory.high", "8192", "8192"],
    ["memory.low", "4097", "4096"],
    ["pids.max", "77", "77"],
    ["pids.max", "max", "max"],
  ],
};

const REFUSED: Readonly<Record<1 | 2, readonly (readonly [string, string])[]>> = {
  1: [
    ["cpu.shares", "many"],
    ["cpu.cfs_quota_us", "10"],
    ["cpu.cfs_period_us", "10"],
    ["pids.max", "-5"],
  ],
  2: [
    ["cpu.weight", "0"],
    ["cpu.weight", "10001"],
    ["cpu.max", "10 100000"],
    ["memory.max", "lots"],
    ["pids.max", "-5"],
  ],
};

function hasController(tree: CgroupTree, file: string): boolean {
  return tree.controllers.has(file.slice(0, file.indexOf(".")));
}

function groupValues(at: Current) {
  test("values read back in the kernel's spelling", async () => {
    const { host, group } = at();
    const tree = host.cgroups;
    await tree.create(group);
    for (const [file, written, read] of VALUES[tree.version]) {
      if (!hasController(tree, file)) continue;
      await tree.write(group, file, written);
      assert.equal(await tree.read(group, file), read, `${file} = ${written}`);
    }
  });

  test("what the kernel refuses is an error that names group and file", async () => {
    const { host, group } = at();
    const tree = host.cgroups;
    await tree.create(group);
    for (const [file, value] of REFUSED[tree.version]) {
      if (!hasController(tree, file)) continue;
      const before = await tree.read(group, file);
      await assert.rejects(tree.write(group, file, value), (thrown: unknown) => {
        assert.ok(isOutside(thrown, "invalid", "exhausted"), `${file} = ${value}: ${thrown}`);
        assert.ok(thrown.message.includes(group) && thrown.message.includes(file), thrown.message);
        return true;
      });
      assert.equal(await tree.read(group, file), before);
    }
  });

  test("missing groups and files read as undefined and cannot be written", async () => {
    const { host, group } = at();
    const tree = host.cgroups;
    const file = tree.version === 1 ? "cpu.shares" : "cgroup.freeze";
    assert.equal(await tree.read(group, file), undefined);
    await rejectsWith(tree.write(group, file, "1"), "notFound", group);
    await tree.create(group);
    assert.equal(await tree.read(group, "memory.no_such_file"), undefined);
    assert.equal(await tree.read(group, "nosuch.controller"), undefined);
    await rejectsWith(tree.write(group, "nosuch.controller", "1"), "notFound", group);
  });
}

function groupReadings(at: Current) {
  test("readNow reads several files at once, and what is not there is undefined", async () => {
    const { host, group } = at();
    const tree = host.cgroups;
    await tree.create(group);
    const file = tree.version === 1 ? "pids.max" : "cgroup.procs";
    const files = [file, "memory.no_such_file", "nosuch.controller"];
    const [first, ...rest] = tree.readNow(group, files);
    assert.equal(first, await tree.read(group, file));
    assert.deepEqual(rest, [undefined, undefined]);
    assert.deepEqual(tree.readNow(`${group}/no`, [file]), [undefined]);
  });
}

function groupProcesses(at: Current) {
  test("processes sees all beneath, destroy ends them and takes the groups", async () => {
    const { host, group, addProcess, isAlive } = at();
    const tree = host.cgroups;
    await tree.create(`${group}/a/inner`);
    await tree.create(`${group}/b`);
    assert.deepEqual(await tree.processes(group), []);
    const inner = await addProcess(`${group}/a/inner`);
    const other = await addProcess(`${group}/b`);
    const all = [inner, other].sort((a, b) => a - b);
    assert.deepEqual(await tree.processes(group), all);
    assert.deepEqual(await tree.processes(`${group}/a`), [inner]);
    assert.equal((await host.process(inner))?.pid, inner);
    const groups = Object.values((await host.process(inner))?.cgroups ?? {});
    assert.ok(
      groups.some((path) => path.endsWith(`${group}/a/inner`)),
      groups.join(),
    );
    await tree.destroy(`${group}/a`);
    await eventually("the end of the inner process", () => !isAlive(inner));
    assert.equal(isAlive(other), true);
    await tree.destroy(group);
    await eventually("the end of the other process", () => !isAlive(other));
    assert.equal(await tree.exists(group), false);
    assert.deepEqual(await tree.processes(group), []);
    assert.equal(await host.process(inner), undefined);
  });
}

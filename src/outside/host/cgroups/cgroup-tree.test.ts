import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../../kit/clock.ts";
import { isOutside } from "../../../kit/errors.ts";
import { parseMountinfo } from "../mounts/parse-mountinfo.ts";
import { findCgroupMounts } from "./cgroup-mounts.ts";
import { createCgroupTreeV1 } from "./cgroup-tree-v1.ts";
import { createCgroupTreeV2 } from "./cgroup-tree-v2.ts";

const clock = createSystemClock();
const root = `/cgroup-tree-${randomBytes(6).toString("hex")}`;
const children: ChildProcess[] = [];
const mounts = findCgroupMounts(parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8")));
const notRoot = process.getuid?.() !== 0 && "needs root: cgroups of the machine are made";

async function startProcess(): Promise<string> {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  children.push(child);
  await once(child, "spawn");
  return String(child.pid);
}

/** Waits for what the kernel does in its own time. */
async function settled(check: () => Promise<boolean>): Promise<void> {
  for (let i = 0; !(await check()); i += 1) {
    assert.ok(i < 200, "the kernel did not get there within 10 s");
    await sleep(50);
  }
}

after(() => {
  for (const child of children) child.kill("SIGKILL");
});

describe("v1", { skip: notRoot || (mounts?.version !== 1 && "this machine runs v2") }, () => {
  const hierarchies = mounts?.version === 1 ? mounts.hierarchies : [];
  const tree = createCgroupTreeV1(clock, hierarchies);
  after(() => tree.destroy(root));

  test("create makes the group in every hierarchy and gives it CPUs and memory nodes", async () => {
    await tree.create(`${root}/a`);
    for (const { mountPoint } of hierarchies) assert.ok(existsSync(`${mountPoint}${root}/a`));
    assert.equal(await tree.read(`${root}/a`, "cpuset.cpus"), await tree.read("/", "cpuset.cpus"));
    assert.equal(await tree.read(`${root}/a`, "cpuset.mems"), await tree.read("/", "cpuset.mems"));
  });

  test("a group that is missing in one hierarchy does not exist, and create completes it", async () => {
    const [first] = hierarchies;
    await tree.create(`${root}/partial`);
    rmdirSync(`${first?.mountPoint}${root}/partial`);
    assert.equal(await tree.exists(`${root}/partial`), false);
    assert.deepEqual(await tree.children(root), ["a", "partial"]);
    await tree.create(`${root}/partial`);
    assert.equal(await tree.exists(`${root}/partial`), true);
  });

  test("thaw lets signals reach what was frozen beneath the group", async () => {
    await tree.create(`${root}/thawed/inner`);
    const pid = await startProcess();
    await tree.write(`${root}/thawed/inner`, "cgroup.procs", pid);
    await tree.write(`${root}/thawed/inner`, "freezer.state", "FROZEN");
    const state = () => tree.read(`${root}/thawed/inner`, "freezer.state");
    await settled(async () => (await state()) === "FROZEN");
    process.kill(Number(pid), "SIGKILL");
    await sleep(200);
    assert.deepEqual(await tree.processes(`${root}/thawed`), [Number(pid)]);
    await tree.thaw(`${root}/thawed`);
    await settled(async () => (await tree.processes(`${root}/thawed`)).length === 0);
    await tree.thaw(`${root}/missing`);
  });

  test("members are the group's own processes, processes those beneath, too", async () => {
    await tree.create(`${root}/members/below`);
    const pid = await startProcess();
    await tree.write(`${root}/members/below`, "cgroup.procs", pid);
    assert.deepEqual(await tree.members(`${root}/members`), []);
    assert.deepEqual(await tree.members(`${root}/members/below`), [Number(pid)]);
    assert.deepEqual(await tree.processes(`${root}/members`), [Number(pid)]);
    await tree.destroy(`${root}/members`);
  });

  test("destroy thaws what is frozen, which no signal ends otherwise", async () => {
    await tree.create(`${root}/frozen/inner`);
    await tree.write(`${root}/frozen/inner`, "cgroup.procs", await startProcess());
    await tree.write(`${root}/frozen`, "freezer.state", "FROZEN");
    await tree.destroy(`${root}/frozen`);
    assert.equal(await tree.exists(`${root}/frozen`), false);
  });

  test("destroy refuses to end this process", async () => {
    const [hierarchy] = hierarchies.filter(({ controllers }) => controllers.includes("pids"));
    const procs = `${hierarchy?.mountPoint}${root}/self/cgroup.procs`;
    await tree.create(`${root}/self`);
    const home = readFileSync("/proc/self/cgroup", "utf8").match(/^\d+:[^:]*\bpids\b[^:]*:(.*)$/m);
    writeFileSync(procs, String(process.pid));
    try {
      await assert.rejects(tree.destroy(`${root}/self`), (thrown) =>
        isOutside(thrown, "precondition"),
      );
    } finally {
      const back = `${hierarchy?.mountPoint}${home?.[1]}/cgroup.procs`;
      writeFileSync(back, String(process.pid));
    }
  });
});

const UNIFIED = mounts?.version === 2 ? mounts.mountPoint : "/sys/fs/cgroup/unified";
const noUnified = !existsSync(`${UNIFIED}/cgroup.controllers`) && "no v2 mount here";

describe("v2", { skip: notRoot || noUnified }, () => {
  const tree = createCgroupTreeV2(clock, UNIFIED);
  after(() => tree.destroy(root));

  test("create hands every controller down", async () => {
    await tree.create(`${root}/a/b`);
    const own = await tree.read(`${root}/a/b`, "cgroup.controllers");
    assert.equal(own, [...tree.controllers].join(" "));
    assert.equal(await tree.read(`${root}/a/b`, "cgroup.subtree_control"), "");
  });

  test("thaw undoes the freezing of all beneath the group", async () => {
    await tree.create(`${root}/thawed/inner`);
    await tree.write(`${root}/thawed/inner`, "cgroup.freeze", "1");
    await tree.thaw(`${root}/thawed`);
    assert.equal(await tree.read(`${root}/thawed/inner`, "cgroup.freeze"), "0");
    await tree.thaw(`${root}/missing`);
  });

  test("members are the group's own processes, processes those beneath, too", async () => {
    await tree.create(`${root}/members/below`);
    const pid = await startProcess();
    await tree.write(`${root}/members/below`, "cgroup.procs", pid);
    assert.deepEqual(await tree.members(`${root}/members`), []);
    assert.deepEqual(await tree.members(`${root}/members/below`), [Number(pid)]);
    assert.deepEqual(await tree.processes(`${root}/members`), [Number(pid)]);
    await tree.destroy(`${root}/members`);
  });

  test("create beneath a group with processes names the file that refused", async () => {
    await tree.create(`${root}/busy`);
    await tree.write(`${root}/busy`, "cgroup.procs", await startProcess());
    await assert.rejects(tree.create(`${root}/busy/child`), (thrown) => {
      assert.ok(isOutside(thrown, "precondition"));
      assert.match(thrown.message, /busy\/child: controllers missing there: .*subtree_control/);
      return true;
    });
    assert.equal(await tree.exists(`${root}/busy/child`), false);
  });

  test("create beneath a threaded group is refused with its type", async () => {
    mkdirSync(`${UNIFIED}${root}/plain/threads`, { recursive: true });
    writeFileSync(`${UNIFIED}${root}/plain/threads/cgroup.type`, "threaded");
    await assert.rejects(tree.create(`${root}/plain/threads/child`), (thrown) => {
      assert.ok(isOutside(thrown, "precondition"));
      assert.match(thrown.message, /plain\/cgroup.type is "domain threaded"/);
      return true;
    });
    await tree.write(`${root}/plain`, "cgroup.procs", await startProcess());
    await tree.destroy(`${root}/plain`);
    assert.equal(existsSync(`${UNIFIED}${root}/plain`), false);
  });

  test("destroy refuses to end this process", async () => {
    const home = readFileSync("/proc/self/cgroup", "utf8").match(/^0::(.*)$/m)?.[1];
    await tree.create(`${root}/self`);
    await tree.write(`${root}/self`, "cgroup.procs", String(process.pid));
    try {
      await assert.rejects(tree.destroy(root), (thrown) => isOutside(thrown, "precondition"));
    } finally {
      await tree.write(home ?? "/", "cgroup.procs", String(process.pid));
    }
  });
});

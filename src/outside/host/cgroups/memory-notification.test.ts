// On the machine's own kernel: a process that does not get along with its memory makes the kernel report it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { parseMountinfo } from "../mounts/parse-mountinfo.ts";
import { findCgroupMounts } from "./cgroup-mounts.ts";
import { isNotifyingKernel, watchMemoryFiles } from "./memory-notification.ts";

const WAIT_MS = 30_000;
const LIMIT_BYTES = 8 * 2 ** 20;
const name = `memory-notification-${randomBytes(6).toString("hex")}`;
const mounts = findCgroupMounts(parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8")));
const unified = mounts?.version === 2 ? mounts.mountPoint : mounts?.hybrid;
const memory =
  mounts?.version === 1
    ? mounts.hierarchies.find(({ controllers }) => controllers.includes("memory"))?.mountPoint
    : undefined;
const skip =
  process.getuid?.() !== 0
    ? "needs root: cgroups of the machine are made"
    : memory === undefined
      ? "this machine runs v2"
      : unified === undefined
        ? "no hybrid mount here"
        : false;

test("watchMemoryFiles: the kernel reports that tasks wait for memory", { skip }, async () => {
  const groups = [join(unified ?? "", name), join(memory ?? "", name)] as const;
  const folder = mkdtempSync(join(tmpdir(), "nodelet-memory-"));
  const ended = new AbortController();
  for (const group of groups) mkdirSync(group);
  try {
    writeFileSync(join(groups[1], "memory.limit_in_bytes"), String(LIMIT_BYTES));
    let reports = 0;
    const onPressure = () => {
      reports += 1;
    };
    const watched = watchMemoryFiles({ stalls: groups[0] }, onPressure, ended.signal);
    assert.deepEqual(watched, isNotifyingKernel(release()) ? ["memory.pressure"] : []);
    if (watched.length === 0) return;
    await sleep(100);
    assert.equal(reports, 0, "arming is no report");
    // A file five times as large as the memory is read over and over.
    const big = join(folder, "big");
    const join_ = groups.map((group) => `echo $$ > ${group}/cgroup.procs`).join("; ");
    const read = `head -c ${5 * LIMIT_BYTES} /dev/zero > ${big}; while :; do cat ${big} > /dev/null; done`;
    const reader = spawn("sh", ["-c", `${join_}; ${read}`], { stdio: "ignore", detached: true });
    const exited = once(reader, "exit");
    const deadline = performance.now() + WAIT_MS;
    while (reports === 0 && performance.now() < deadline) await sleep(50);
    process.kill(-(reader.pid ?? 0), "SIGKILL");
    await exited;
    assert.ok(reports > 0, readFileSync(join(groups[0], "memory.pressure"), "utf8"));
  } finally {
    ended.abort();
    rmSync(folder, { recursive: true });
    for (const group of groups) await removed(group);
  }
});

/** A group is busy for a moment after its last process has ended. */
async function removed(group: string): Promise<void> {
  for (const deadline = performance.now() + WAIT_MS; existsSync(group); await sleep(20)) {
    try {
      rmdirSync(group);
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
  }
}

test("watchMemoryFiles: what is not there is not watched", () => {
  const nowhere = { stalls: "/nonexistent", limit: "/nonexistent" };
  assert.deepEqual(
    watchMemoryFiles(nowhere, () => {}, new AbortController().signal),
    [],
  );
});

for (const [kernel, expected] of [
  ["6.1.0-40-amd64", false],
  ["6.4.16", false],
  ["6.5.0", true],
  ["6.18.44-fc", true],
  ["7.0.0", true],
  ["5.15.0", false],
] as const)
  test(`isNotifyingKernel: ${kernel}`, () => assert.equal(isNotifyingKernel(kernel), expected));

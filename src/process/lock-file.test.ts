import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withTemporaryFolder } from "../../test/support/temporary-folder.ts";
import { isOutside } from "../kit/errors.ts";
import { silentLog } from "../kit/log.ts";
import { hasWaiter, lockAgentFile } from "./lock-file.ts";

for (const [what, line, expected] of [
  ["a waiter", "1: -> FLOCK  ADVISORY  WRITE 4711 00:2d:99 0 EOF", true],
  ["the holder", "1: FLOCK  ADVISORY  WRITE 4711 00:2d:99 0 EOF", false],
  ["a waiter for another file", "2: -> FLOCK  ADVISORY  WRITE 4711 00:2d:990 0 EOF", false],
  ["a waiter for a lock of fcntl", "2: -> POSIX  ADVISORY  WRITE 4711 00:2d:99 0 EOF", false],
  ["nothing", "", false],
] as const)
  test(`hasWaiter: ${what}`, () => assert.equal(hasWaiter(`${line}\n`, 99), expected));

const lock = (path: string, exitOnLockContention: boolean) => {
  const leave = new AbortController();
  const flags = { lockFile: path, exitOnLockContention };
  return { leave, taken: lockAgentFile(flags, { log: silentLog, leave }) };
};

test("lockAgentFile: the second waits until the first lets go, and can give up", () =>
  withTemporaryFolder(async (folder) => {
    const path = join(folder, "kubelet.lock");
    const first = lock(path, false);
    const held = await first.taken;
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const impatient = lock(path, false);
    impatient.leave.abort(new Error("enough"));
    await assert.rejects(impatient.taken, /enough/);
    const second = lock(path, false);
    let isTaken = false;
    void second.taken.then(() => {
      isTaken = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(isTaken, false);
    held[Symbol.dispose]();
    (await second.taken)[Symbol.dispose]();
  }));

test("lockAgentFile: with --exit-on-lock-contention a waiter makes it leave", () =>
  withTemporaryFolder(async (folder) => {
    const path = join(folder, "kubelet.lock");
    const { leave, taken } = lock(path, true);
    using _held = await taken;
    const other = spawn("flock", ["--exclusive", path, "true"], { stdio: "ignore" });
    // Nothing else keeps this process while it waits.
    const alive = setInterval(() => {}, 1_000);
    await once(leave.signal, "abort");
    clearInterval(alive);
    assert.match(String(leave.signal.reason), /another process waits for the lock/);
    _held[Symbol.dispose]();
    await once(other, "exit");
  }));

test("lockAgentFile: with --exit-on-lock-contention so does the removal of the file", () =>
  withTemporaryFolder(async (folder) => {
    const path = join(folder, "kubelet.lock");
    const { leave, taken } = lock(path, true);
    using _held = await taken;
    rmSync(path);
    await once(leave.signal, "abort");
    assert.match(String(leave.signal.reason), /removed or replaced/);
  }));

test("lockAgentFile: a file that cannot be made is an error that names it", async () => {
  await assert.rejects(lock("/proc/nowhere/lock", false).taken, (thrown: unknown) => {
    assert.ok(!isOutside(thrown));
    assert.match(String(thrown), /\/proc\/nowhere\/lock/);
    return true;
  });
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { createServer } from "node:net";
import { test } from "node:test";
import { parsePids } from "./cgroups/cgroup-folders.ts";
import {
  killProcess,
  parseProcessCgroups,
  parseProcessStat,
  readOpenFiles,
  readProcess,
} from "./processes.ts";

const REST =
  "1 42 42 0 -1 4194560 180 0 0 0 3 4 0 0 20 0 1 0 316327 2617344 0 18446744073709551615";

test("parseProcessStat survives names made to confuse", () => {
  for (const name of ["sleep", "a b", "a) R 1", "((", ""]) {
    assert.deepEqual(parseProcessStat(`77 (${name}) S ${REST}\n`), {
      pid: 77,
      name,
      state: "S",
      parentPid: 1,
      sessionId: 42,
      isKernelThread: false,
      startTicks: 316_327,
    });
  }
  const kernel = REST.replace("4194560", "2129984");
  assert.equal(parseProcessStat(`9 (kworker/0:1) I ${kernel}\n`)?.isKernelThread, true);
  for (const text of ["", "77 sleep S 1", "77 (sleep) S 1 2"]) {
    assert.equal(parseProcessStat(text), undefined);
  }
});

test("parseProcessCgroups distinguishes v1 controllers, named hierarchies and v2", () => {
  const text = "9:name=systemd:/init\n5:cpu,cpuacct:/kubepods/pod1:x\n0::/user.slice\nnonsense\n";
  assert.deepEqual(parseProcessCgroups(text), {
    "name=systemd": "/init",
    cpu: "/kubepods/pod1:x",
    cpuacct: "/kubepods/pod1:x",
    "": "/user.slice",
  });
});

test("parsePids never gives 0, which would be our own process group", () => {
  assert.deepEqual(parsePids("0\n12\n-3\n\n0\n7\nx"), [12, 7]);
});

test("readProcess finds a child and loses it when it is gone", async () => {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  const pid = child.pid ?? 0;
  await once(child, "spawn");
  const facts = readProcess(pid);
  assert.deepEqual([facts?.pid, facts?.parentPid], [pid, process.pid]);
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.equal(readProcess(pid), undefined);
});

test("killProcess ends the process that was meant and no later one of its number", async () => {
  const child = spawn("sleep", ["1000"], { stdio: "ignore" });
  const pid = child.pid ?? 0;
  await once(child, "spawn");
  const startTicks = readProcess(pid)?.startTicks ?? 0;
  killProcess({ pid, startTicks: startTicks - 1 });
  assert.equal(readProcess(pid)?.state === "Z", false);
  killProcess({ pid, startTicks });
  const [, signal] = (await once(child, "exit")) as [number | null, string];
  assert.equal(signal, "SIGKILL");
  killProcess({ pid, startTicks });
});

test("readOpenFiles counts the descriptors of a process, and which are sockets", async () => {
  const before = readOpenFiles(process.pid);
  assert.ok(before);
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const after = readOpenFiles(process.pid);
  server.close();
  assert.equal(after?.descriptors, before.descriptors + 1);
  assert.equal(after?.sockets, (before.sockets ?? 0) + 1);
  assert.equal(readOpenFiles(2 ** 30), undefined);
});

test("readOpenFiles counts again what is known where the number of descriptors is another", async (t) => {
  const child = spawn("cat", { stdio: ["pipe", "pipe", "ignore"] });
  t.after(() => child.kill("SIGKILL"));
  const { pid } = child;
  assert.ok(pid);
  // Once it answers it has closed the libraries that it opened when it started.
  child.stdin.write("started\n");
  await once(child.stdout, "data");
  const open = readOpenFiles(pid);
  assert.ok(open && open.descriptors > 0);
  const known = { descriptors: open.descriptors, sockets: 99 };
  const countsInFolder = statSync(`/proc/${pid}/fd`).size > 0;
  assert.deepEqual(readOpenFiles(pid, known), countsInFolder ? known : open);
  assert.deepEqual(readOpenFiles(pid, { descriptors: open.descriptors + 1, sockets: 99 }), open);
  assert.equal(readOpenFiles(2 ** 30, known), undefined);
});

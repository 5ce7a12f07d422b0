import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessFacts } from "../../../outside/host/host.ts";
import { containerProcesses } from "./container-processes.ts";

const facts = (pid: number, group: string, more: Partial<ProcessFacts> = {}): ProcessFacts => ({
  pid,
  parentPid: 1,
  sessionId: pid,
  name: "x",
  state: "S",
  isKernelThread: false,
  startTicks: pid * 10,
  cgroups: { memory: group },
  ...more,
});

const all = new Map(
  [
    facts(11, "/kubepods/podu/c1"),
    facts(12, "/kubepods/podu/c2"),
    facts(13, "/kubepods/podu/cri-containerd-c1.scope"),
    facts(14, "/kubepods/podu"),
    facts(16, "/kubepods/podu/c1", { state: "Z" }),
  ].map((process) => [process.pid, process]),
);

const killed: number[] = [];
const processes = containerProcesses({
  host: {
    process: async (pid) => all.get(pid),
    killProcess: async ({ pid }) => void killed.push(pid),
    readKernel: (path) =>
      ({ "/proc/uptime": "123.45 200.00", "/proc/11/cmdline": "sh\0-c\0sleep 9\0" })[path],
  },
  podProcesses: async (uid) => (uid === "u" ? [11, 12, 13, 14, 15] : []),
  containerGroupAt: (path) => /^\/kubepods\/podu\/(.+)$/.exec(path)?.[1],
});

test("containerProcesses finds those in the container's own group, with their words", async () => {
  const found = await processes.of("u", "c1");
  assert.deepEqual(
    found.map(({ pid, command }) => [pid, command]),
    [
      [11, "sh -c sleep 9"],
      [13, ""],
    ],
  );
  assert.deepEqual(await processes.of("other", "c1"), []);
  assert.equal(processes.nowTicks(), 12_345);
});

test("containerProcesses knows who has ended and was not collected", async () => {
  const process = (pid: number, startTicks: number) => ({
    pid,
    parentPid: 1,
    sessionId: pid,
    startTicks,
    state: "S",
    command: "",
  });
  assert.equal(await processes.isUncollected(process(16, 160)), true);
  assert.equal(await processes.isUncollected(process(16, 161)), false, "another of that number");
  assert.equal(await processes.isUncollected(process(11, 110)), false);
  assert.equal(await processes.isUncollected(process(99, 1)), false);
  await processes.kill(process(11, 110));
  assert.deepEqual(killed, [11]);
});

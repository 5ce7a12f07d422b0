import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { type Log, silentLog } from "../../kit/log.ts";
import { TaskScope } from "../../kit/scope.ts";
import type { ProcessFacts } from "../../outside/host/host.ts";
import { type SystemGroupOptions, startSystemGroups } from "./system-groups.ts";

const SCORE = "/proc/self/oom_score_adj";
const NONE: SystemGroupOptions = { systemCgroups: "", kubeletCgroups: "", oomScoreAdj: -999 };

async function scene(options: Partial<SystemGroupOptions>, version: 1 | 2 = 2) {
  const clock = new SimClock();
  const host = new FakeHost({ clock, cgroupVersion: version });
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => void warnings.push(message) };
  const facts = new Map<number, Partial<ProcessFacts>>();
  const process = host.process.bind(host);
  host.process = async (pid) => {
    const found = await process(pid);
    if (!found) return undefined;
    const [path = ""] = Object.values(found.cgroups);
    const cgroups = version === 2 ? { "": path } : { cpu: path, memory: path, "": "/" };
    return { ...found, cgroups, ...facts.get(pid) };
  };
  const put = (path: string, pid: number, more: Partial<ProcessFacts> = {}) => {
    host.cgroups.addProcess(path, pid);
    facts.set(pid, more);
  };
  const start = () => {
    const scope = new TaskScope("test", { clock, log: silentLog });
    startSystemGroups({ ...NONE, ...options }, { host, clock, log, scope });
    return scope;
  };
  const members = (path: string) => host.cgroups.members(path);
  return { clock, host, warnings, put, start, members };
}

test("processes of the root go into the system's group, without process 1, kernel threads and the dead", async () => {
  const { clock, host, put, start, members } = await scene({ systemCgroups: "/system" });
  await host.cgroups.create("/other");
  put("/", 1);
  put("/", 2, { isKernelThread: true });
  put("/", 3, { state: "Z" });
  put("/", 40);
  put("/", 41);
  put("/other", 50);
  const scope = start();
  await clock.advance(0);
  assert.deepEqual(await members("/system"), [40, 41]);
  assert.deepEqual(await members("/"), [1, 2, 3]);
  assert.deepEqual(await members("/other"), [50]);
  put("/", 42);
  await clock.advance(59_000);
  assert.deepEqual(await members("/"), [1, 2, 3, 42], "the next check is after a minute");
  await clock.advance(2_000);
  assert.deepEqual(await members("/system"), [40, 41, 42]);
  await scope[Symbol.asyncDispose]();
});

for (const version of [1, 2] as const)
  test(`v${version}: the agent and its workers go into their group, what else it has started does not`, async () => {
    const options = { systemCgroups: "/system", kubeletCgroups: "nodelet/" };
    const { clock, host, put, start, members } = await scene(options, version);
    host.kernelFiles.set("/proc/self/stat", "40 (node) S 1 40 40 0 -1 4194560");
    host.kernelFiles.set("/proc/40/task/40/children", "41 42 ");
    for (const pid of [40, 41]) put("/", pid, { name: "node" });
    put("/", 42, { name: "mount" });
    const scope = start();
    await clock.advance(0);
    assert.deepEqual(await members("/nodelet"), [40, 41]);
    assert.deepEqual(await members("/system"), [42]);
    const writes: string[] = [];
    const write = host.cgroups.write.bind(host.cgroups);
    host.cgroups.write = (path, file, value) => {
      writes.push(`${path} ${value}`);
      return write(path, file, value);
    };
    await clock.advance(61_000);
    assert.deepEqual(writes, [], "what is where it belongs is left alone");
    await scope[Symbol.asyncDispose]();
  });

test("what cannot be moved is warned of once; the rest is moved, and one that ended is no problem", async () => {
  const { clock, host, put, start, members, warnings } = await scene({ systemCgroups: "/system" });
  for (const pid of [40, 41, 42]) put("/", pid);
  const write = host.cgroups.write.bind(host.cgroups);
  host.cgroups.write = async (path, file, value) => {
    if (value === "41") host.cgroups.removeProcess(41);
    if (value !== "42") return write(path, file, value);
    throw new OutsideError("denied", "permission denied");
  };
  host.cgroups.addProcess("/", 41);
  const scope = start();
  await clock.advance(180_000);
  assert.deepEqual(await members("/"), [42]);
  assert.deepEqual(warnings, ["failed to move processes of the system into /system; will retry"]);
  await scope[Symbol.asyncDispose]();
});

test("without groups nothing is moved, and the agent's OOM score is set again every five minutes", async () => {
  const { clock, host, put, start, members } = await scene({});
  put("/", 40);
  host.kernelFiles.set(SCORE, "0");
  host.writeKernel = (path, value) => void host.kernelFiles.set(path, value);
  const scope = start();
  await clock.advance(0);
  assert.equal(host.readKernel(SCORE), "-999");
  host.kernelFiles.set(SCORE, "7");
  await clock.advance(310_000);
  assert.equal(host.readKernel(SCORE), "-999");
  assert.deepEqual([await members("/"), host.cgroups.paths], [[40], ["/"]]);
  await scope[Symbol.asyncDispose]();
});

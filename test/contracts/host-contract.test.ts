import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { createCgroupTreeV2 } from "../../src/outside/host/cgroups/cgroup-tree-v2.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import type { Host } from "../../src/outside/host/host.ts";
import { createFileWorkers } from "../../src/outside/host/worker/file-workers.ts";
import { FakeHost } from "../sim/fake-host.ts";
import { SimClock } from "../sim/sim-clock.ts";
import { LoopDevice } from "../support/loop-device.ts";
import { hostContract } from "./host-contract.ts";
import type { HostUnderTest } from "./host-under-test.ts";

for (const version of [1, 2] as const) {
  hostContract(`the fake with cgroup v${version}`, async () => {
    const alive = new Set<number>();
    const host = new FakeHost({
      clock: new SimClock(),
      cgroupVersion: version,
      onKill: (pid) => alive.delete(pid),
    });
    await host.files.makeDirectory("/tmp/test", 0o700);
    let lastPid = 100;
    let lastMinor = 0;
    return {
      host,
      folder: "/tmp/test",
      group: "/test",
      addSocket: async (path) => host.files.addSocket(path),
      addDevice: async (path) => {
        lastMinor += 1;
        await host.files.makeDirectory("/dev", 0o755);
        host.files.addDevice(`/dev/loop${lastMinor}`, `7:${lastMinor}`);
        await host.files.link(`/dev/loop${lastMinor}`, path);
        return `7:${lastMinor}`;
      },
      addProcess: async (group) => {
        lastPid += 1;
        host.cgroups.addProcess(group, lastPid);
        alive.add(lastPid);
        return lastPid;
      },
      isAlive: (pid) => alive.has(pid),
      dispose: async () => {},
    };
  });
}

const clock = createSystemClock();
const fileWorkers = createFileWorkers({ clock, log: silentLog });
after(() => fileWorkers.close());

async function realHost(parts: (host: Host) => Partial<Host> = () => ({})): Promise<HostUnderTest> {
  const connected = connectHost({ clock, log: silentLog, fileWorkers });
  const host: Host = { ...connected, ...parts(connected) };
  const folder = mkdtempSync(join(tmpdir(), "host-contract-"));
  const group = `/host-contract-${randomBytes(6).toString("hex")}`;
  const servers: Server[] = [];
  const children = new Map<number, ChildProcess>();
  const loops: LoopDevice[] = [];
  return {
    host,
    folder,
    group,
    addSocket: async (path) => {
      const server = createServer();
      servers.push(server);
      server.listen(path);
      await once(server, "listening");
    },
    addDevice: async (path) => {
      const made = LoopDevice.over(join(folder, `disk-${loops.length}`));
      if (!made) return undefined;
      loops.push(made);
      symlinkSync(made.path, path);
      return made.number;
    },
    addProcess: async (path) => {
      const child = spawn("sleep", ["1000"], { stdio: "ignore" });
      const pid = child.pid ?? 0;
      children.set(pid, child);
      await host.cgroups.write(path, "cgroup.procs", String(pid));
      return pid;
    },
    isAlive: (pid) => {
      const child = children.get(pid);
      return child?.exitCode === null && child.signalCode === null;
    },
    dispose: async () => {
      for (const child of children.values()) child.kill("SIGKILL");
      await host.cgroups.destroy(group);
      for (const server of servers) server.close();
      for (const loop of loops) loop.detach();
      rmSync(folder, { recursive: true });
    },
  };
}

const notRoot = process.getuid?.() !== 0 && "needs root: cgroups of the machine are made";

if (notRoot) test("the real host", { skip: notRoot }, () => {});
else {
  hostContract("the real host", () => realHost());
  hostContract("the real host with its files in workers", () =>
    realHost(({ files, podFiles }) => ({
      files: { ...podFiles, watchDirectory: files.watchDirectory },
    })),
  );
}

/** The unified hierarchy of a machine that runs v1: few controllers, but the same tree. */
const HYBRID = "/sys/fs/cgroup/unified";

describe("the unified hierarchy beside v1", () => {
  const missing = !existsSync(`${HYBRID}/cgroup.controllers`) && "no hybrid mount here";
  const skip = notRoot || missing;
  if (skip) test("v2 on the real kernel", { skip }, () => {});
  else {
    hostContract("the real host with v2", () =>
      realHost(() => ({ cgroups: createCgroupTreeV2(createSystemClock(), HYBRID) })),
    );
  }
});

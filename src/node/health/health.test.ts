import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeHost } from "../../../test/sim/fake-host.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { Cell } from "../../kit/cell.ts";
import type { MonotonicMs } from "../../kit/clock.ts";
import { silentLog } from "../../kit/log.ts";
import { MetricsRegistry } from "../../kit/metrics.ts";
import { TaskScope } from "../../kit/scope.ts";
import type { Serving } from "../../outside/serving.ts";
import { startHealth } from "./health.ts";

const MIB = 1024 * 1024;
const GROUP = "/system.slice/nodelet.service";

function world() {
  const clock = new SimClock();
  const host = new FakeHost({ clock, cgroupVersion: 2 });
  const scope = new TaskScope("test", { clock, log: silentLog });
  const start = (process: object, ownsProcess: boolean) =>
    startHealth({
      outside: { clock, host, serving: { process } as unknown as Serving, log: silentLog },
      scope,
      metrics: new MetricsRegistry(),
      rootFolder: "/",
      lastListing: new Cell<MonotonicMs | undefined>(undefined),
      ownsProcess,
    });
  return { clock, host, scope, start };
}

/** Measures an agent of that size in a cgroup with a limit of 1 GiB for a minute; why it has failed. */
async function measure(residentMib: number, ownsProcess: boolean): Promise<string | undefined> {
  const { clock, host, scope, start } = world();
  host.kernelFiles.set("/proc/self/cgroup", `0::${GROUP}\n`);
  await host.cgroups.create(GROUP);
  await host.cgroups.write(GROUP, "memory.high", String(1024 * MIB));
  const process = {
    memory: () => ({
      residentBytes: residentMib * MIB,
      heapUsedBytes: 100 * MIB,
      heapLimitBytes: 512 * MIB,
    }),
    letGarbageGather: () => {},
    loopDelay: () => ({ p50Seconds: 0, p99Seconds: 0, maxSeconds: 0 }),
  };
  start(process, ownsProcess);
  await clock.advance(60_000);
  const { failure } = scope;
  await scope[Symbol.asyncDispose]();
  return failure?.message;
}

test("startHealth: an agent that has nearly all memory of its cgroup fails with the reason", async () => {
  assert.equal(await measure(200, true), undefined);
  assert.equal(
    await measure(900, true),
    "the agent has 900 MiB of memory, and its cgroup a limit of 1024 MiB: it exits before its memory runs out",
  );
});

test("startHealth: a program that embeds the agent is not ended for its memory", async () => {
  assert.equal(await measure(900, false), undefined);
});

/** How often an agent that takes no CPU and waits for it for that share of the time gives back memory in a minute. */
async function releases(waitShare: number): Promise<number> {
  const { clock, host, scope, start } = world();
  let trimmed = 0;
  start(
    {
      memory: () => ({
        residentBytes: MIB,
        heapTotalBytes: 0,
        heapUsedBytes: 0,
        heapLimitBytes: MIB,
      }),
      letGarbageGather: () => {},
      loopDelay: () => ({ p50Seconds: 0, p99Seconds: 0, maxSeconds: 0 }),
      cpuSeconds: () => 0,
      releaseProgramPages: () => true,
      trimMalloc: () => {
        trimmed += 1;
      },
    },
    true,
  );
  for (let second = 0; second < 60; second += 1) {
    host.kernelFiles.set("/proc/self/schedstat", `7 ${Math.round(second * waitShare * 1e9)} 7\n`);
    await clock.advance(1_000);
  }
  await scope[Symbol.asyncDispose]();
  return trimmed;
}

test("startHealth: an agent gives back memory at rest, and not while it waits for a processor", async () => {
  assert.equal(await releases(0.1), 1);
  assert.equal(await releases(0.9), 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import type { ContainerProcesses } from "../../src/subsystems/probes/handlers/exec-guard.ts";
import type { ContainerProcess } from "../../src/subsystems/probes/handlers/exec-tree.ts";
import { exited, pod, target, World } from "./world.ts";

const SHIM = 1;

/** A container's processes as a test scripts them. */
class FakeProcesses implements ContainerProcesses {
  readonly all = new Map<number, ContainerProcess>();
  readonly uncollected = new Set<number>();
  /** Numbers of processes that no signal ends. */
  readonly deaf = new Set<number>();
  attempts = 0;
  readonly killed: number[] = [];
  clock: Clock | undefined;
  #lastPid = 100;

  nowTicks(): number {
    return 1000 + Math.floor((this.clock?.monotonic() ?? 0) / 10);
  }

  start(command: string, more: Partial<ContainerProcess> = {}): number {
    this.#lastPid += 1;
    const pid = this.#lastPid;
    const process = {
      pid,
      parentPid: SHIM,
      sessionId: pid,
      startTicks: this.nowTicks(),
      state: "S",
      command,
    };
    this.all.set(pid, { ...process, ...more });
    return pid;
  }

  async of(): Promise<readonly ContainerProcess[]> {
    this.attempts += 1;
    return [...this.all.values()];
  }

  async kill({ pid, startTicks }: ContainerProcess): Promise<void> {
    assert.equal(this.all.get(pid)?.startTicks, startTicks);
    this.killed.push(pid);
    if (!this.deaf.has(pid)) this.all.delete(pid);
  }

  async isUncollected({ pid }: ContainerProcess): Promise<boolean> {
    return this.uncollected.has(pid);
  }
}

const probe = {
  exec: { command: ["sh", "-c", "slow 9 & wait"] },
  periodSeconds: 5,
  failureThreshold: 100,
};

async function hanging(start: (processes: FakeProcesses) => void, annotations = {}) {
  const processes = new FakeProcesses();
  processes.start("server", { startTicks: 10 });
  const world = await World.create({ processes });
  processes.clock = world.clock;
  world.exec = async (_, signal) => {
    start(processes);
    await world.clock.sleep(3_600_000, signal);
    return exited(0);
  };
  const app = target({ liveness: probe }, { startedAtMs: world.clock.wall() });
  world.probes.watch(pod({ annotations }), [app]);
  return { world, processes };
}

test("an exec probe that runs out of time is ended with all it started, and nothing else is", async () => {
  const { world, processes } = await hanging((now) => {
    const root = now.start("sh -c slow 9 & wait");
    now.start("slow 9", { parentPid: root, sessionId: root });
    now.start("daemonized", { parentPid: root });
    now.start("sh");
    now.start("worker", { parentPid: 101, sessionId: 101 });
  });
  await world.clock.advance(4900);
  assert.deepEqual(
    [...processes.all.values()].map(({ command }) => command),
    ["server", "sh", "worker"],
  );
  const [report] = world.probes.history();
  assert.deepEqual([report?.killed, report?.history[0]?.killed], [3, 3]);
  assert.equal(
    world.events[0]?.message,
    'Liveness probe failed: command timed out: "sh -c slow 9 & wait" timed out after 1s',
  );
  assert.match(world.metrics.expose(), /nodelet_exec_probe_killed_processes_total 3\n/);
});

test("what a command left whose first process has ended already is found by its words", async () => {
  const { world, processes } = await hanging((now) => {
    now.start("slow 9", { parentPid: 101, sessionId: 99 });
    now.start("crond -b", { parentPid: 101, sessionId: 98 });
  });
  await world.clock.advance(4900);
  assert.deepEqual(
    [...processes.all.values()].map(({ command }) => command),
    ["server", "crond -b"],
  );
});

test("a probe whose processes cannot be ended fails without being started again, until they are gone", async () => {
  const { world, processes } = await hanging((now) => now.start("sh -c slow 9 & wait"));
  processes.deaf.add(102);
  await world.clock.advance(14_900);
  assert.deepEqual(world.attempts(), [0]);
  const messages = world.events.map(({ message }) => message.split("timed out after ")[1]);
  assert.deepEqual(messages, Array(3).fill("1s; cannot be ended: process 102"));
  processes.all.delete(102);
  await world.clock.advance(1000);
  assert.deepEqual(world.attempts(), [0, 15]);
});

test("a pod with the annotation keeps them, and the runtime says when the time is over", async () => {
  const keep = { "nodelet.dev/probe-leftovers": "keep" };
  const { world, processes } = await hanging(() => {}, keep);
  world.exec = async (_, signal, seconds) => {
    processes.start("sh -c slow 9 & wait");
    await world.clock.sleep(seconds * 1000, signal);
    throw new OutsideError("deadline", "timeout 1s exceeded");
  };
  await world.clock.advance(14_900);
  assert.deepEqual([world.attempts().length, processes.killed, processes.all.size], [3, [], 4]);
});

/** A runtime that needs a while until the command runs, which then takes a while. */
async function slowRuntime(startMs: number, runMs: number) {
  const { world, processes } = await hanging(() => {});
  world.exec = async (_, signal) => {
    const runc = processes.start("/proc/self/fd/7 init");
    await world.clock.sleep(startMs, signal);
    processes.all.delete(runc);
    const pid = processes.start("sh -c slow 9 & wait");
    await world.clock.sleep(runMs, signal);
    processes.all.delete(pid);
    return exited(0);
  };
  return world;
}

const SLOW_STARTS: readonly (readonly [string, number, number, number | undefined])[] = [
  ["that was long to start and answers in time succeeds", 1_700, 900, undefined],
  ["that was long to start has its time from then on", 1_700, 60_000, 2_700],
  ["that runs at once has its time", 0, 60_000, 1_000],
  ["that was very long to start has its time from then on", 60_000, 60_000, 61_000],
  ["that never starts fails in the end", 600_000, 0, 121_000],
];

for (const [what, startMs, runMs, failsAtMs] of SLOW_STARTS)
  test(`a command ${what}`, async () => {
    const world = await slowRuntime(startMs, runMs);
    const failures = () => world.events.filter(({ reason }) => reason === "Unhealthy").length;
    if (failsAtMs === undefined) {
      await world.clock.advance(4_900);
      assert.equal(failures(), 0);
      assert.equal(world.probes.history()[0]?.counts.successful, 1);
      return;
    }
    await world.clock.advance(failsAtMs - 50);
    assert.equal(failures(), 0);
    await world.clock.advance(800);
    assert.equal(failures(), 1);
  });

test("no process is searched as long as commands end by themselves", async () => {
  const processes = new FakeProcesses();
  const world = await World.create({ processes });
  processes.clock = world.clock;
  const app = target({ liveness: probe }, { startedAtMs: world.clock.wall() });
  world.probes.watch(pod(), [app]);
  await world.clock.advance(60_000);
  assert.deepEqual([world.seen.length, processes.attempts], [12 + 1, 0]);
});

test("two probes that hang with the same command end each their own", async () => {
  const processes = new FakeProcesses();
  const world = await World.create({ processes });
  processes.clock = world.clock;
  world.exec = async (_, signal) => {
    processes.start("sh -c slow 9 & wait");
    await world.clock.sleep(3_600_000, signal);
    return exited(0);
  };
  const app = target({ liveness: probe, readiness: probe }, { startedAtMs: world.clock.wall() });
  world.probes.watch(pod(), [app]);
  await world.clock.advance(4900);
  assert.deepEqual(
    world.probes.history().map(({ killed }) => killed),
    [1, 1],
  );
  assert.equal(processes.all.size, 0);
});

test("ended processes that the container does not collect are warned about once", async () => {
  const { world, processes } = await hanging((now) => {
    const root = now.start("sh -c slow 9 & wait");
    for (let i = 0; i < 7; i += 1)
      now.uncollected.add(now.start("slow 9", { parentPid: root, sessionId: root }));
  });
  await world.clock.advance(9900);
  assert.ok(world.events.every(({ reason }) => reason === "Unhealthy"));
  await world.clock.advance(20_000);
  const warnings = world.events.filter(({ reason }) => reason === "ProbeWarning");
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]?.message ?? "", /^Liveness probe warning: 21 processes /);
  assert.equal(processes.all.size, 1);
});

test("a command that is not seen running fails only where the runtime answers otherwise", async () => {
  for (const answers of [true, false]) {
    const { world } = await hanging(() => {});
    if (!answers) world.version = () => new Promise(() => {});
    // The first attempt has its second, 10 s until the runtime is asked for its version, and that has 5 s to answer.
    await world.clock.advance(16_500);
    const last = () => world.probes.history()[0]?.history[0]?.result;
    assert.equal(last(), answers ? undefined : "error");
    await world.clock.advance(106_000);
    assert.equal(last(), answers ? "failure" : "error");
  }
});

test("commands that the runtime does not start hold up the probes of other pods for seconds only", async () => {
  const { world } = await hanging(() => {});
  for (let i = 0; i < 20; i += 1)
    world.probes.watch(pod({ uid: `hangs-${i}`, name: `hangs-${i}` }), [
      target({ liveness: probe }, { startedAtMs: world.clock.wall(), containerId: `h${i}` }),
    ]);
  await world.clock.advance(1_000);
  const { exec } = world;
  world.exec = (id, ...more) => (id === "good" ? exited(0) : exec(id, ...more));
  world.probes.watch(pod({ uid: "good", name: "good" }), [
    target({ liveness: probe }, { startedAtMs: world.clock.wall(), containerId: "good" }),
  ]);
  await world.clock.advance(11_000);
  assert.deepEqual(world.attempts("good"), [11, 11]);
});

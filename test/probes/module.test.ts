import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OutsideError } from "../../src/kit/errors.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { CONNECTED, exited, pod, REFUSED, target, World } from "./world.ts";

test("an error is tried three times, makes one event and no verdict", async () => {
  const world = await World.create();
  const exec = { exec: { command: ["check"] }, periodSeconds: 10, failureThreshold: 1 };
  const app = target({ liveness: exec }, { startedAtMs: world.clock.wall() });
  let calls = 0;
  world.exec = () => {
    calls += 1;
    throw new OutsideError("unavailable", "no runtime");
  };
  world.probes.watch(pod(), [app]);
  await world.clock.advance(1000);
  assert.equal(calls, 3);
  assert.deepEqual(world.news(), ["liveness success 0"]);
  assert.deepEqual(world.events, [
    {
      podUid: "uid-1",
      namespace: "default",
      podName: "web",
      container: "app",
      fieldPath: "spec.containers{app}",
      type: "Warning",
      reason: "Unhealthy",
      message: "Liveness probe errored and resulted in unknown state: no runtime",
    },
  ]);
  calls = 0;
  world.exec = () => {
    calls += 1;
    if (calls < 3) throw new OutsideError("unavailable", "no runtime");
    return exited(1, "out", "err");
  };
  await world.clock.advance(10_000);
  assert.equal(calls, 3);
  assert.equal(world.events[1]?.message, "Liveness probe failed: outerr");
  assert.equal(world.news().at(-1), "liveness failure 10");
});

test("exec probes share their slots fairly between pods, also when those of one pod hang", async () => {
  const world = await World.create({ execInFlight: 3, execInFlightPerPod: 2 });
  world.exec = async (id, signal) => {
    await world.clock.sleep(id.startsWith("bad") ? 60_000 : 20, signal);
    return exited(0);
  };
  const probe = { exec: { command: ["check"] }, periodSeconds: 1, timeoutSeconds: 100 };
  const startedAtMs = world.clock.wall();
  const container = (name: string) => {
    const app = target({ liveness: probe }, { startedAtMs, containerId: name });
    return { ...app, spec: { ...app.spec, name } };
  };
  world.probes.watch(
    pod({ uid: "bad" }),
    [1, 2, 3, 4, 5].map((i) => container(`bad-${i}`)),
  );
  for (let i = 0; i < 5; i += 1)
    world.probes.watch(pod({ uid: `good-${i}` }), [container(`good-${i}`)]);
  await world.clock.advance(9500);
  for (let i = 0; i < 5; i += 1) assert.equal(world.attempts(`good-${i}`).length, 10);
  assert.equal(world.seen.filter(({ target: id }) => id.startsWith("bad")).length, 2);
  assert.match(world.metrics.expose(), /nodelet_exec_probes\{state="waiting"\} 3/);
});

test("an exec probe that waited until its container was replaced is not run", async () => {
  const world = await World.create({ execInFlight: 1 });
  world.exec = async (_, signal) => {
    await world.clock.sleep(3000, signal);
    return exited(0);
  };
  const probe = { exec: { command: ["check"] }, periodSeconds: 10, timeoutSeconds: 10 };
  const startedAtMs = world.clock.wall();
  world.probes.watch(pod({ uid: "first" }), [
    target({ liveness: probe }, { startedAtMs, containerId: "busy" }),
  ]);
  world.probes.watch(pod(), [target({ liveness: probe }, { startedAtMs })]);
  await world.clock.advance(1000);
  world.probes.watch(pod(), [target({ liveness: probe }, { startedAtMs, containerId: "c2" })]);
  await world.clock.advance(12_000);
  assert.deepEqual(world.attempts("c1"), []);
  assert.equal(world.attempts("c2").length, 1);
});

test("330 probes that begin at one instant are soon spread over the period, and none is neglected", async () => {
  const world = await World.create();
  const one = { periodSeconds: 1 };
  for (let i = 0; i < 110; i += 1) {
    const app = target(
      { liveness: one, readiness: { ...one, tcpSocket: { port: 81 } }, startup: one },
      { startedAtMs: world.clock.wall(), started: true },
    );
    const { startupProbe: _, ...spec } = app.spec;
    const second = { ...app, spec: { ...spec, name: "second" } };
    const { readinessProbe: __, ...rest } = second.spec;
    world.probes.watch(pod({ uid: `uid-${i}`, ip: `10.0.0.${i}` }), [
      { ...app, spec },
      { ...second, spec: rest, containerId: "c2" },
    ]);
  }
  await world.clock.advance(60_000);
  const atOnce = new Map<number, number>();
  for (const at of world.attempts().filter((seconds) => seconds > 50)) {
    const slot = Math.floor(at * 20);
    atOnce.set(slot, (atOnce.get(slot) ?? 0) + 1);
  }
  assert.ok(Math.max(...atOnce.values()) <= 20, `${Math.max(...atOnce.values())} within 50 ms`);
  for (let i = 0; i < 110; i += 1) {
    const attempts = world.attempts(`10.0.0.${i}`).length;
    assert.ok(attempts >= 3 * 58, `${attempts} attempts of three probes in a minute`);
  }
});

test("metrics count by result and time what did not fail, and go with the probe", async () => {
  const world = await World.create();
  const answers = [CONNECTED, REFUSED, CONNECTED];
  world.answer = async (_, signal) => {
    await world.clock.sleep(30, signal);
    return answers[world.seen.length - 1] ?? REFUSED;
  };
  world.probes.watch(pod(), [
    target({ liveness: { periodSeconds: 10 } }, { startedAtMs: world.clock.wall() }),
  ]);
  await world.clock.advance(25_000);
  const own = 'container="app",namespace="default",pod="web"';
  const labels = `${own},probe_type="Liveness"`;
  const total = `prober_probe_total{${own},pod_uid="uid-1",probe_type="Liveness",result`;
  const page = world.metrics.expose();
  assert.ok(page.includes(`${total}="successful"} 2\n`));
  assert.ok(page.includes(`${total}="failed"} 1\n`));
  assert.ok(page.includes(`prober_probe_duration_seconds_count{${labels}} 2\n`));
  assert.ok(page.includes(`prober_probe_duration_seconds_bucket{${labels},le="0.025"} 0\n`));
  assert.ok(page.includes(`prober_probe_duration_seconds_bucket{${labels},le="0.05"} 2\n`));
  world.probes.forget("uid-1");
  assert.ok(!world.metrics.expose().includes('pod="web"'));
});

test("history keeps the last attempts, oldest first, with the beginning of their output", async () => {
  const world = await World.create({ historyLength: 3 });
  const exec = { exec: { command: ["check"] }, periodSeconds: 1, failureThreshold: 10 };
  world.exec = async (_, signal) => {
    await world.clock.sleep(20, signal);
    return exited(1, `${world.seen.length} ${"x".repeat(1000)}`);
  };
  world.probes.watch(pod(), [target({ liveness: exec }, { startedAtMs: world.clock.wall() })]);
  await world.clock.advance(4500);
  const [report] = world.probes.history();
  assert.equal(report?.handler, "exec");
  assert.equal(report?.containerId, "c1");
  assert.equal(report?.verdict, "success");
  assert.equal(report?.nextInMs, 500);
  assert.deepEqual(report?.counts, { successful: 0, failed: 5, unknown: 0 });
  assert.deepEqual(report?.run, { result: "failure", length: 5 });
  assert.deepEqual(
    report?.history.map(({ durationMs, lateMs, result, output }) => [
      durationMs,
      lateMs,
      result,
      output.slice(0, 2),
    ]),
    [
      [20, 0, "failure", "3 "],
      [20, 0, "failure", "4 "],
      [20, 0, "failure", "5 "],
    ],
  );
  assert.ok(report?.history.every(({ output }) => output.length === 256));
});

test("closing the scope cuts off what is under way and waits for its end", async () => {
  const world = await World.create();
  world.answer = async (_, signal) => {
    await world.clock.sleep(60_000, signal);
    return CONNECTED;
  };
  const app = target({ liveness: {} }, { startedAtMs: world.clock.wall() });
  world.probes.watch(pod(), [app]);
  await world.clock.advance(100);
  assert.equal(world.runningNow, 1);
  await world.scope[Symbol.asyncDispose]();
  assert.equal(world.runningNow, 0);
  world.probes.watch(pod(), [app]);
  await world.clock.advance(60_000);
  assert.equal(world.seen.length, 1);
  assert.equal(world.clock.pending, 0);
});

type Op =
  | {
      readonly kind: "watch";
      readonly pod: number;
      readonly running: boolean;
      readonly ending: boolean;
      readonly started: boolean;
    }
  | { readonly kind: "replace"; readonly pod: number }
  | { readonly kind: "forget"; readonly pod: number }
  | { readonly kind: "pass"; readonly ms: number };

const pods = fc.nat(2);
const ops = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("watch" as const),
      pod: pods,
      running: fc.boolean(),
      ending: fc.boolean(),
      started: fc.boolean(),
    }),
    fc.record({ kind: fc.constant("replace" as const), pod: pods }),
    fc.record({ kind: fc.constant("forget" as const), pod: pods }),
    fc.record({ kind: fc.constant("pass" as const), ms: fc.nat(3000) }),
  ),
  { maxLength: 40 },
);

test("whatever happens to pods: one attempt at a time per probe, verdicts only of what is watched, only changes", async () => {
  await fc.assert(
    fc.asyncProperty(ops, fc.integer(), async (steps: readonly Op[], seed) => {
      const random = createSeededRandom(seed);
      const world = await World.create({ random, execInFlight: 2, execInFlightPerPod: 1 });
      const current = new Map<string, string>();
      const verdicts = new Map<string, string>();
      const running = new Set<string>();
      let checked = 0;
      const slow = async (name: string, signal: AbortSignal) => {
        assert.ok(!running.has(name), "one at a time");
        running.add(name);
        await world.clock.sleep(random.next() * 2500, signal).finally(() => running.delete(name));
      };
      world.answer = async (host, signal) => {
        await slow(host, signal);
        return random.next() < 0.5 ? CONNECTED : REFUSED;
      };
      world.exec = async (id, signal) => {
        await slow(id, signal);
        if (random.next() < 0.2) throw new OutsideError("unavailable", "no runtime");
        return exited(random.next() < 0.5 ? 0 : 1);
      };
      const check = () => {
        for (const { uid, containerId, probe, result } of world.verdicts.slice(checked)) {
          assert.equal(containerId, current.get(uid), "of the container that is there");
          const key = `${containerId} ${probe}`;
          assert.notEqual(verdicts.get(key), result, "a change");
          verdicts.set(key, result);
        }
        checked = world.verdicts.length;
      };
      const attempts = [0, 0, 0];
      for (const step of steps) {
        if (step.kind === "pass") await world.clock.advance(step.ms);
        check();
        if (step.kind === "pass") continue;
        const uid = `pod-${step.pod}`;
        if (step.kind === "forget") {
          world.probes.forget(uid);
          current.delete(uid);
          // What starts over reports again.
          attempts[step.pod] = (attempts[step.pod] ?? 0) + 1;
          continue;
        }
        if (step.kind === "replace") attempts[step.pod] = (attempts[step.pod] ?? 0) + 1;
        const containerId = `${uid}-${attempts[step.pod]}`;
        current.set(uid, containerId);
        const isWatch = step.kind === "watch";
        const ending = isWatch && step.ending;
        const running = !isWatch || step.running;
        const started = !isWatch || step.started;
        const one = { periodSeconds: 1, failureThreshold: 2 };
        const probes = { readiness: one, liveness: { ...one, exec: { command: ["x"] } } };
        const app = target(probes, {
          startedAtMs: world.clock.wall(),
          containerId,
          running,
          started,
        });
        world.probes.watch(pod({ uid, ip: uid, ending }), [app]);
      }
      await world.clock.advance(5000);
      check();
      await world.scope[Symbol.asyncDispose]();
      assert.deepEqual([running.size, world.clock.pending], [0, 0]);
    }),
    { numRuns: 100 },
  );
});

test("each of two probes of one port connects by itself, and waits for its own period only", async () => {
  const world = await World.create();
  const one = { periodSeconds: 1 };
  const app = target({ liveness: one, readiness: one }, { startedAtMs: world.clock.wall() });
  world.probes.watch(pod(), [app]);
  await world.clock.advance(370);
  const before = world.attempts().length;
  await world.clock.advance(60_000);
  assert.equal(world.attempts().length - before, 120);
  for (const { kind, history } of world.probes.history()) {
    const gaps = history.slice(1).map(({ atMs }, i) => atMs - (history[i]?.atMs ?? 0));
    for (const gapMs of gaps)
      assert.ok(gapMs >= 1000 && gapMs <= 1050, `${kind}: ${gapMs} ms between two attempts`);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { CONNECTED, pod, REFUSED, target, World } from "./world.ts";

const fine = (times: string) => ({ "nodelet.dev/probe-periods": times });

test("a pod's annotation gives a probe a period below one second", async () => {
  const world = await World.create();
  const probes = { liveness: { periodSeconds: 1 }, readiness: { periodSeconds: 1 } };
  const app = target(probes, { startedAtMs: world.clock.wall() });
  world.probes.watch(pod({ annotations: fine("app/readiness=200ms") }), [app]);
  await world.clock.advance(9900);
  const [readiness, liveness] = world.probes.history();
  assert.deepEqual(
    [readiness?.counts.successful, readiness?.periodMs, liveness?.counts.successful],
    [50, 200, 10],
  );
});

test("failures are counted at the fine period too", async () => {
  const world = await World.create();
  world.answer = () => (world.seconds < 2 ? CONNECTED : REFUSED);
  const app = target(
    { readiness: { periodSeconds: 1, failureThreshold: 2 } },
    { startedAtMs: world.clock.wall() },
  );
  world.probes.watch(pod({ annotations: fine("app/readiness=100ms") }), [app]);
  await world.clock.advance(5000);
  assert.deepEqual(world.news(), [
    "readiness failure 0",
    "readiness success 0",
    "readiness failure 2.1",
  ]);
});

test("beyond the node's ceiling fine probes slow down alike, and get their pace back", async () => {
  const world = await World.create({ fineAttemptsPerSecond: 20 });
  const watch = (i: number) => {
    const app = target({ readiness: { periodSeconds: 1 } }, { startedAtMs: world.clock.wall() });
    const annotations = fine("app/readiness=100ms");
    world.probes.watch(pod({ uid: `uid-${i}`, ip: `10.0.0.${i}`, annotations }), [app]);
  };
  for (let i = 0; i < 8; i += 1) watch(i);
  await world.clock.advance(2000);
  world.seen.length = 0;
  await world.clock.advance(10_000);
  assert.ok(world.seen.length <= 201, `${world.seen.length} attempts in 10 s`);
  for (let i = 0; i < 8; i += 1) {
    const attempts = world.attempts(`10.0.0.${i}`).length;
    assert.ok(attempts >= 23 && attempts <= 26, `${attempts} attempts of one in 10 s`);
  }
  for (let i = 1; i < 8; i += 1) world.probes.forget(`uid-${i}`);
  await world.clock.advance(1000);
  world.seen.length = 0;
  await world.clock.advance(1000);
  assert.equal(world.seen.length, 10);
});

test("an annotation that cannot be used makes one event and the spec holds", async () => {
  const world = await World.create();
  const app = target({ liveness: { periodSeconds: 1 } }, { startedAtMs: world.clock.wall() });
  for (let i = 0; i < 3; i += 1) {
    world.probes.watch(pod({ annotations: fine("app/readiness=1ms") }), [app]);
    await world.clock.advance(1000);
  }
  assert.deepEqual(
    world.events.map(({ reason, container, message }) => [reason, container, message]),
    [
      [
        "ProbeWarning",
        undefined,
        'nodelet.dev/probe-periods: "app/readiness=1ms": the pod has no probe app/readiness',
      ],
    ],
  );
  assert.equal(world.seen.length, 4);
});

test("a timeout below one second cuts an exec probe off by itself", async () => {
  const world = await World.create();
  world.exec = async (_, signal) => {
    await world.clock.sleep(800, signal);
    throw new Error("too late");
  };
  const exec = { exec: { command: ["check"] }, periodSeconds: 1, failureThreshold: 1 };
  const app = target({ liveness: exec }, { startedAtMs: world.clock.wall() });
  const annotations = { "nodelet.dev/probe-timeouts": "app/liveness=150ms" };
  world.probes.watch(pod({ annotations }), [app]);
  await world.clock.advance(900);
  assert.deepEqual(world.news(), ["liveness success 0", "liveness failure 0.15"]);
  assert.equal(
    world.events[0]?.message,
    'Liveness probe failed: command timed out: "check" timed out after 150ms',
  );
});

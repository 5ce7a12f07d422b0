import assert from "node:assert/strict";
import { test } from "node:test";
import type { WallMs } from "../../src/kit/clock.ts";
import { OutsideError } from "../../src/kit/errors.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { CONNECTED, pod, REFUSED, target, World } from "./world.ts";

test("period 10, delay 15, threshold 3: attempts at 20, 30 and 40, killed at 40", async () => {
  const world = await World.create();
  world.answer = () => REFUSED;
  const app = target(
    { liveness: { periodSeconds: 10, initialDelaySeconds: 15, failureThreshold: 3 } },
    { startedAtMs: world.clock.wall() },
  );
  world.probes.watch(pod(), [app]);
  await world.clock.advance(100_000);
  assert.deepEqual(world.attempts(), [20, 30, 40]);
  assert.deepEqual(world.news(), ["liveness success 0", "liveness failure 40"]);
});

test("the delay counts whole seconds: a container one millisecond younger is probed a period later", async () => {
  for (const [youngerMs, attempts] of [
    [0, [10, 20]],
    [1, [20]],
  ] as const) {
    const world = await World.create();
    const startedAtMs = (world.clock.wall() + youngerMs) as WallMs;
    const liveness = { periodSeconds: 10, initialDelaySeconds: 10 };
    const app = target({ liveness }, { startedAtMs });
    world.probes.watch(pod(), [{ ...app, containerId: undefined, running: false }]);
    await world.clock.advance(youngerMs);
    world.probes.watch(pod(), [app]);
    await world.clock.advance(25_000);
    assert.deepEqual(world.attempts(), attempts);
  }
});

test("startup has about 300 s with period 10 and threshold 30, and then the container is to be killed", async () => {
  const world = await World.create();
  world.answer = () => REFUSED;
  const probes = {
    startup: { periodSeconds: 10, failureThreshold: 30 },
    liveness: { periodSeconds: 10 },
  };
  const app = target(probes, { startedAtMs: world.clock.wall(), started: false });
  world.probes.watch(pod(), [app]);
  await world.clock.advance(400_000);
  assert.equal(world.attempts().length, 30);
  assert.deepEqual(world.news(), [
    "startup unknown 0",
    "liveness success 0",
    "startup failure 290",
  ]);
});

test("after startup has succeeded it rests, and liveness begins with its next turn", async () => {
  const world = await World.create();
  const startedAtMs = world.clock.wall();
  world.answer = () => (world.seconds < 20 ? REFUSED : CONNECTED);
  const probes = {
    startup: { periodSeconds: 10, failureThreshold: 30 },
    liveness: { periodSeconds: 7 },
  };
  world.probes.watch(pod(), [target(probes, { startedAtMs, started: false })]);
  await world.clock.runUntil(() => world.news().includes("startup success 20"), 60_000);
  world.probes.watch(pod(), [target(probes, { startedAtMs })]);
  await world.clock.advance(20_000);
  assert.deepEqual(world.attempts(), [0, 10, 20, 21, 28, 35]);
  assert.deepEqual(world.news(), ["startup unknown 0", "liveness success 0", "startup success 20"]);
});

test("F F S F F F with threshold 3 fails at the sixth attempt", async () => {
  const world = await World.create();
  const answers = [REFUSED, REFUSED, CONNECTED, REFUSED, REFUSED, REFUSED];
  world.answer = () => answers[world.seen.length - 1] ?? CONNECTED;
  world.probes.watch(pod(), [
    target({ liveness: { periodSeconds: 1 } }, { startedAtMs: world.clock.wall() }),
  ]);
  await world.clock.advance(60_000);
  assert.deepEqual(world.news(), ["liveness success 0", "liveness failure 5"]);
  assert.equal(world.seen.length, 6);
});

test("after a liveness failure nothing is probed until there is a new container", async () => {
  const world = await World.create();
  world.answer = () => REFUSED;
  const probes = { liveness: { periodSeconds: 1, failureThreshold: 1 } };
  const startedAtMs = world.clock.wall();
  world.probes.watch(pod(), [target(probes, { startedAtMs })]);
  await world.clock.advance(10_500);
  assert.deepEqual(world.attempts(), [0]);
  world.answer = () => CONNECTED;
  world.probes.watch(pod(), [
    target(probes, { startedAtMs: world.clock.wall(), containerId: "c2" }),
  ]);
  await world.clock.advance(2000);
  assert.deepEqual(world.attempts(), [0, 11, 12]);
  assert.deepEqual(
    world.verdicts.map(({ containerId, result }) => `${containerId} ${result}`),
    ["c1 success", "c1 failure", "c2 success"],
  );
});

test("an attempt that outlasts its period is followed at once by one more, never by two at a time", async () => {
  const world = await World.create();
  world.answer = async (_, signal) => {
    assert.equal(world.runningNow, 1);
    await world.clock.sleep(3300, signal);
    return CONNECTED;
  };
  world.probes.watch(pod(), [
    target({ liveness: { periodSeconds: 1 } }, { startedAtMs: world.clock.wall() }),
  ]);
  await world.clock.advance(11_000);
  assert.deepEqual(world.attempts(), [0, 3.3, 6.6, 9.9]);
  world.answer = () => CONNECTED;
  await world.clock.advance(6000);
  // Back on the beat of the first attempt.
  assert.deepEqual(world.attempts(), [0, 3.3, 6.6, 9.9, 13.2, 14, 15, 16, 17]);
});

test("watching a pod that is not ready probes at once and counts the period from there", async () => {
  const world = await World.create();
  let isUp = false;
  world.answer = () => (isUp ? CONNECTED : REFUSED);
  const app = target({ readiness: { periodSeconds: 10 } }, { startedAtMs: world.clock.wall() });
  world.probes.watch(pod(), [app]);
  await world.clock.advance(3000);
  world.probes.watch(pod(), [app]);
  await world.clock.advance(9000);
  assert.deepEqual(world.attempts(), [0, 0.25, 1.25, 3]);
  isUp = true;
  await world.clock.advance(3000);
  assert.deepEqual(world.news(), ["readiness failure 0", "readiness success 13"]);
  world.probes.watch(pod(), [app]);
  await world.clock.advance(1000);
  assert.deepEqual(world.attempts(), [0, 0.25, 1.25, 3, 13], "not when it is ready");
});

for (const [what, { periodSeconds, upAt, attempts }] of Object.entries({
  "that listens at once": { periodSeconds: 10, upAt: 0, attempts: [0, 10, 20] },
  "that listens soon": { periodSeconds: 10, upAt: 0.1, attempts: [0, 0.25, 10.25, 20.25] },
  "that listens after a second": { periodSeconds: 10, upAt: 1, attempts: [0, 0.25, 1.25, 11.25] },
  "that never listens": { periodSeconds: 10, upAt: 99, attempts: [0, 0.25, 1.25, 11.25] },
  "with a short period": { periodSeconds: 1, upAt: 2.5, attempts: [0, 0.25, 1.25, 2.25, 3.25] },
}))
  test(`a container ${what} is probed for readiness at ${attempts.join(", ")} s`, async () => {
    const world = await World.create();
    world.answer = () => (world.seconds < upAt ? REFUSED : CONNECTED);
    const app = target({ readiness: { periodSeconds } }, { startedAtMs: world.clock.wall() });
    world.probes.watch(pod(), [app]);
    await world.clock.advance((attempts.at(-1) ?? 0) * 1000);
    assert.deepEqual(world.attempts(), attempts);
    // Out of service again, it is probed once a period.
    world.answer = () => REFUSED;
    const before = world.attempts().length;
    await world.clock.advance(10_000);
    assert.equal(world.attempts().length - before, 10 / periodSeconds);
  });

test("extra attempts for readiness are made for each container, and none after one that took long", async () => {
  const world = await World.create();
  world.answer = async (_, signal) => {
    await world.clock.sleep(300, signal);
    return REFUSED;
  };
  const readiness = { periodSeconds: 10 };
  const app = target({ readiness }, { startedAtMs: world.clock.wall() });
  world.probes.watch(pod(), [app]);
  await world.clock.advance(10_000);
  assert.deepEqual(world.attempts(), [0, 10]);
  world.answer = () => REFUSED;
  await world.clock.advance(10_000);
  assert.deepEqual(world.attempts(), [0, 10, 20]);
  world.probes.watch(pod(), [{ ...app, containerId: "c2" }]);
  await world.clock.advance(2_000);
  assert.deepEqual(world.attempts(), [0, 10, 20, 20.1, 20.35, 21.35]);
});

test("a container that was ready before the agent restarted gets no extra attempts", async () => {
  const world = await World.create();
  world.answer = () => REFUSED;
  const app = target(
    { readiness: { periodSeconds: 10 } },
    { startedAtMs: world.clock.wall(), confirmed: { startup: true, readiness: true } },
  );
  world.probes.watch(pod(), [app]);
  await world.clock.advance(30_000);
  assert.deepEqual(world.attempts(), [0, 10, 20, 30]);
  assert.deepEqual(world.news(), ["readiness failure 20"]);
});

test("extra attempts are made for readiness only", async () => {
  const world = await World.create();
  world.answer = () => REFUSED;
  const probes = { liveness: { periodSeconds: 10, failureThreshold: 9 } };
  world.probes.watch(pod(), [target(probes, { startedAtMs: world.clock.wall() })]);
  await world.clock.advance(10_000);
  assert.deepEqual(world.attempts(), [0, 10]);
});

test("many turns of a pod that is not ready do not cause a burst of attempts", async () => {
  const world = await World.create();
  world.answer = () => REFUSED;
  const app = target({ readiness: { periodSeconds: 10 } }, { startedAtMs: world.clock.wall() });
  for (let i = 0; i < 50; i += 1) {
    world.probes.watch(pod(), [app]);
    await world.clock.advance(10);
  }
  assert.deepEqual(world.attempts(), [0, 0.1, 0.2, 0.3, 0.4, 0.5]);
  await world.clock.advance(10_000);
  assert.equal(world.attempts().at(-1), 10.5, "a period after the last");
});

test("a turn of the pod during an attempt leads to one more attempt after it, if it is still not ready", async () => {
  const world = await World.create();
  let answer = REFUSED;
  world.answer = async (_, signal) => {
    await world.clock.sleep(500, signal);
    return answer;
  };
  const app = target({ readiness: { periodSeconds: 10 } }, { startedAtMs: world.clock.wall() });
  world.probes.watch(pod(), [app]);
  await world.clock.advance(200);
  for (let i = 0; i < 3; i += 1) world.probes.watch(pod(), [app]);
  await world.clock.advance(400);
  assert.deepEqual(world.attempts(), [0, 0.5]);
  world.probes.watch(pod(), [app]);
  answer = CONNECTED;
  await world.clock.advance(5000);
  assert.deepEqual(world.attempts(), [0, 0.5], "ready by then");
});

test("what was ready before the agent restarted is not called unready", async () => {
  const world = await World.create({ agentAgeMs: 0, random: createSeededRandom(1) });
  const probes = { readiness: { periodSeconds: 10 }, liveness: { periodSeconds: 10 } };
  world.probes.watch(pod(), [
    target(probes, {
      startedAtMs: world.clock.wall(),
      confirmed: { startup: true, readiness: true },
    }),
  ]);
  await world.clock.advance(10_000);
  assert.equal(world.seen.length, 2);
  assert.ok(
    world.attempts().every((at) => at > 0),
    "each at its own time within the first period",
  );
  assert.deepEqual(world.verdicts.map(({ probe, result }) => `${probe} ${result}`).sort(), [
    "liveness success",
  ]);
});

test("when a pod is being ended liveness and startup stop, and go on with readiness in sidecars", async () => {
  const world = await World.create();
  world.answer = () => REFUSED;
  const one = { periodSeconds: 1, failureThreshold: 100 };
  const startedAtMs = world.clock.wall();
  const app = target({ liveness: one, readiness: one }, { startedAtMs });
  const side = target({ liveness: one }, { startedAtMs, kind: "sidecar" });
  const named = { ...side, spec: { ...side.spec, name: "side" }, containerId: "s1" };
  world.probes.watch(pod(), [app, named]);
  await world.clock.advance(1500);
  world.seen.length = 0;
  world.probes.watch(pod({ ending: true }), [app, named]);
  await world.clock.advance(3000);
  const attempts =
    "the trigger and three turns of readiness, three turns of the sidecar's liveness";
  assert.equal(world.seen.length, 4 + 3, attempts);
  assert.deepEqual(
    world.probes.history().map(({ kind, doing }) => [kind, doing?.kind]),
    [
      ["readiness", "probe"],
      ["liveness", "exit"],
      ["liveness", "probe"],
    ],
  );
});

test("a verdict that was under way when the pod began to end is not published, nor its event", async () => {
  const world = await World.create();
  world.answer = async (_, signal) => {
    await world.clock.sleep(500, signal);
    return REFUSED;
  };
  const app = target(
    { liveness: { periodSeconds: 10, failureThreshold: 1 } },
    { startedAtMs: world.clock.wall() },
  );
  world.probes.watch(pod(), [app]);
  await world.clock.advance(100);
  world.probes.watch(pod({ ending: true }), [app]);
  await world.clock.advance(60_000);
  assert.deepEqual(world.news(), ["liveness success 0"]);
  assert.deepEqual(world.events, []);
});

test("a verdict on a container that was replaced during the attempt is not published", async () => {
  const world = await World.create();
  const startedAtMs = world.clock.wall();
  world.answer = async (_, signal) => {
    await world.clock.sleep(500, signal);
    return CONNECTED;
  };
  const probes = { readiness: { periodSeconds: 10 } };
  world.probes.watch(pod(), [target(probes, { startedAtMs })]);
  await world.clock.advance(100);
  world.probes.watch(pod(), [target(probes, { startedAtMs, containerId: "c2", running: false })]);
  await world.clock.advance(5000);
  assert.deepEqual(world.news(), ["readiness failure 0"]);
});

test("a pod that is no longer watched is left alone at once, and attempts under way are cut off", async () => {
  const world = await World.create();
  let isCut = false;
  world.answer = async (_, signal) => {
    signal.addEventListener("abort", () => {
      isCut = true;
    });
    await world.clock.sleep(5000, signal);
    return REFUSED;
  };
  const liveness = { periodSeconds: 1 };
  const readiness = { periodSeconds: 1, tcpSocket: { port: 81 } };
  const app = target({ liveness, readiness }, { startedAtMs: world.clock.wall() });
  world.probes.watch(pod(), [app]);
  await world.clock.advance(100);
  const count = world.news().length;
  world.probes.watch(pod(), []);
  assert.equal(isCut, true);
  await world.clock.advance(60_000);
  assert.equal(world.seen.length, 2);
  assert.equal(world.news().length, count);
  assert.deepEqual(world.events, []);
  assert.deepEqual(world.probes.history(), []);
});

test("an answer that comes after the pod was dropped is not published", async () => {
  const world = await World.create();
  world.answer = async () => {
    await world.clock.sleep(500, new AbortController().signal);
    return REFUSED;
  };
  const probes = { liveness: { failureThreshold: 1 } };
  world.probes.watch(pod(), [target(probes, { startedAtMs: world.clock.wall() })]);
  await world.clock.advance(100);
  world.probes.forget("uid-1");
  await world.clock.advance(60_000);
  assert.deepEqual(world.news(), ["liveness success 0"]);
  assert.deepEqual(world.events, []);
  assert.ok(!world.metrics.expose().includes('pod="web"'));
});

test("only what differs is begun and ended, and a probe keeps its run meanwhile", async () => {
  const world = await World.create();
  world.answer = () => REFUSED;
  const startedAtMs = world.clock.wall();
  const one = { periodSeconds: 1, failureThreshold: 5 };
  const both = target({ liveness: one, readiness: one }, { startedAtMs });
  world.probes.watch(pod(), [both]);
  await world.clock.advance(2500);
  world.probes.watch(pod(), [target({ liveness: one }, { startedAtMs })]);
  assert.deepEqual(
    world.probes.history().map(({ kind, run }) => [kind, run]),
    [["liveness", { result: "failure", length: 3 }]],
  );
  await world.clock.advance(2000);
  assert.deepEqual(world.news().at(-1), "liveness failure 4");
});

test("a probe that will never be needed again stops, and starts over when the container comes back", async () => {
  const world = await World.create();
  const probes = { readiness: { periodSeconds: 1 } };
  const startedAtMs = world.clock.wall();
  const gone = target(probes, { startedAtMs, running: false, comesBack: false });
  world.probes.watch(pod(), [gone]);
  await world.clock.advance(1000);
  assert.equal(world.clock.pending, 0);
  world.probes.watch(pod(), [gone]);
  assert.equal(world.clock.pending, 0);
  world.probes.watch(pod(), [target(probes, { startedAtMs, containerId: "c2" })]);
  await world.clock.advance(10);
  assert.deepEqual(world.attempts(), [1]);
});

test("a node without descriptors for a connection fails no container's probes", async () => {
  const world = await World.create();
  const text = "dial tcp 10.0.0.1:80: connect: too many open files";
  world.answer = () => {
    throw new OutsideError("exhausted", text);
  };
  const liveness = { periodSeconds: 10, failureThreshold: 1 };
  world.probes.watch(pod(), [target({ liveness }, { startedAtMs: world.clock.wall() })]);
  await world.clock.advance(60_000);
  assert.deepEqual(world.news(), ["liveness success 0"]);
  assert.equal(
    world.events[0]?.message,
    `Liveness probe errored and resulted in unknown state: ${text}`,
  );
});

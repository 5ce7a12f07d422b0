// Liveness and readiness probes that ask for the same by TCP take their turns together and share a connection.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Probe } from "../../src/api/generated/types.ts";
import type { ProbeKind } from "../../src/api/probe-result.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { CONNECTED, pod, REFUSED, target, World } from "./world.ts";

/** Attempts that the history of a probe counted. */
function countOf(world: World, kind: ProbeKind): number {
  const { counts } = world.probes.history().find((probe) => probe.kind === kind) ?? assert.fail();
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** A container that begins to run `ms` after its probes began to wait for it, and is then watched for a minute. */
async function minuteOf(world: World, probes: Record<string, Probe>, ms: number): Promise<void> {
  const before = target(probes, { startedAtMs: undefined, running: false, started: false });
  world.probes.watch(pod(), [{ ...before, containerId: undefined }]);
  await world.clock.advance(ms);
  world.probes.watch(pod(), [target(probes, { startedAtMs: world.clock.wall() })]);
  await world.clock.advance(60_000);
}

for (const startMs of [0, 130, 500, 990])
  test(`one connection a period serves both, of a container that starts ${startMs} ms into a period`, async () => {
    const world = await World.create();
    const one = { periodSeconds: 1 };
    await minuteOf(world, { liveness: one, readiness: one }, startMs);
    assert.ok(Math.abs(countOf(world, "readiness") - 60) <= 1, "readiness keeps its period");
    assert.ok(Math.abs(countOf(world, "liveness") - 60) <= 2, "liveness keeps its period");
    const connects = world.attempts().length;
    assert.ok(connects <= 63, `${connects} connections in a minute`);
  });

test("110 containers that begin at one instant share nearly all connections after ten seconds", async () => {
  const world = await World.create({ agentAgeMs: 0, random: createSeededRandom(1) });
  const one = { periodSeconds: 1 };
  const app = target({ liveness: one, readiness: one }, { startedAtMs: world.clock.wall() });
  for (let i = 0; i < 110; i += 1)
    world.probes.watch(pod({ uid: `uid-${i}`, ip: `10.0.0.${i}` }), [
      { ...app, containerId: `c${i}` },
    ]);
  await world.clock.advance(10_000);
  const before = world.attempts().length;
  await world.clock.advance(10_000);
  const connects = world.attempts().length - before;
  assert.ok(connects >= 1090 && connects <= 1130, `${connects} connections of 1,100 attempts each`);
});

const DIFFERENT: Readonly<Record<string, Probe>> = {
  "another port": { periodSeconds: 1, tcpSocket: { port: 81 } },
  "another host": { periodSeconds: 1, tcpSocket: { port: 80, host: "10.0.0.9" } },
  "another timeout": { periodSeconds: 1, timeoutSeconds: 2 },
};
for (const [what, liveness] of Object.entries(DIFFERENT))
  test(`nothing is shared with ${what}`, async () => {
    const world = await World.create();
    await minuteOf(world, { liveness, readiness: { periodSeconds: 1 } }, 130);
    const attempts = countOf(world, "liveness") + countOf(world, "readiness");
    assert.ok(attempts >= 118, `${attempts} attempts in a minute`);
    assert.equal(world.attempts().length, attempts);
  });

test("a container that fails is probed for liveness once a period, whatever readiness does", async () => {
  const world = await World.create();
  let isUp = true;
  world.answer = () => (isUp ? CONNECTED : REFUSED);
  const liveness = { periodSeconds: 1, failureThreshold: 5 };
  const readiness = { periodSeconds: 1, failureThreshold: 1 };
  await minuteOf(world, { liveness, readiness }, 370);
  isUp = false;
  const app = target({ liveness, readiness }, { startedAtMs: world.clock.wall() });
  // Each turn of the pod has readiness probed once more, which moves its turns.
  for (let i = 0; i < 800; i += 1) {
    await world.clock.advance(10);
    if (i % 37 === 0) world.probes.watch(pod(), [app]);
  }
  const { history } =
    world.probes.history().find(({ kind }) => kind === "liveness") ?? assert.fail();
  const failed = history.filter(({ result }) => result === "failure").map(({ atMs }) => atMs);
  assert.equal(failed.length, 5);
  for (const [i, atMs] of failed.slice(1).entries()) {
    const gapMs = atMs - (failed[i] ?? 0);
    assert.ok(gapMs >= 1000 && gapMs <= 1050, `${gapMs} ms between two attempts`);
  }
});

test("turns that readiness moves again and again never let liveness wait two periods", async () => {
  const world = await World.create();
  // Readiness needs many successes in a row and so stays not ready, while liveness succeeds.
  const readiness = { periodSeconds: 10, successThreshold: 1000 };
  const liveness = { periodSeconds: 10 };
  const app = target({ liveness, readiness }, { startedAtMs: world.clock.wall() });
  const counts: number[] = [];
  world.probes.watch(pod(), [app]);
  for (let i = 0; i < 100; i += 1) {
    await world.clock.advance(3700);
    world.probes.watch(pod(), [app]);
    counts.push(countOf(world, "liveness"));
  }
  for (let i = 6; i < counts.length; i += 1)
    assert.ok((counts[i] ?? 0) > (counts[i - 6] ?? 0), `no attempt up to look ${i}`);
});

test("a liveness probe that stops during a shared attempt takes nothing from readiness", async () => {
  const world = await World.create();
  world.answer = async (_, signal) => {
    await world.clock.sleep(400, signal);
    return CONNECTED;
  };
  const one = { periodSeconds: 1 };
  const app = target({ liveness: one, readiness: one }, { startedAtMs: world.clock.wall() });
  world.probes.watch(pod(), [app]);
  await world.clock.advance(100);
  assert.equal(world.seen.length, 1, "both share the first attempt");
  world.probes.watch(pod({ ending: true }), [
    { ...app, spec: { ...app.spec, livenessProbe: undefined } as unknown as typeof app.spec },
  ]);
  await world.clock.advance(900);
  assert.ok(world.told().some((line) => line.startsWith("readiness success")));
});

// Turns of a pod: how often its plan and status are worked out until it is ready, and what counts between two of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf } from "./programs.ts";
import { MANIFESTS, World } from "./world.ts";

const PROBE = { tcpSocket: { port: 80 }, periodSeconds: 1 };

async function startPod(world: World, probes: Readonly<Record<string, object>>): Promise<void> {
  const main = {
    name: "main",
    image: "nodelet.test/nodelet-test:1",
    command: commandOf({ kind: "sleep" }),
    ...probes,
  };
  const metadata = { name: "web" };
  const pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [main] } };
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  await world.host.files.writeAtomic(`${MANIFESTS}/web.json`, JSON.stringify(pod), 0o644);
}

function isReady(world: World): boolean {
  const conditions = world.agent?.pipeline.statuses.list()[0]?.status.conditions ?? [];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

const ADMITTED_AND_OBSERVED = 2;

for (const [name, probes, turns] of [
  ["without probes", {}, ADMITTED_AND_OBSERVED],
  ["with probes", { livenessProbe: PROBE, readinessProbe: PROBE }, ADMITTED_AND_OBSERVED + 1],
] as const)
  test(`a pod ${name} takes ${turns} turns until it is ready`, async () => {
    const world = new World(5);
    world.startAgent();
    await world.advance(5_000);
    let taken = 0;
    const stop = world.agent?.pipeline.pods.subscribe(() => {
      taken += 1;
    });
    await startPod(world, probes);
    for (let i = 0; i < 300 && !isReady(world); i += 1) await world.advance(100);
    assert.ok(isReady(world));
    assert.ok(stop);
    assert.equal(taken, turns);
    stop();
    world.killAgent();
  });

test("events of the runtime count from the end of a start on, though the pod is still being observed", async () => {
  const world = new World(5);
  const { runtime } = world.runtime;
  const { startContainer, listContainers } = runtime;
  let hasStarted = false;
  Object.assign(runtime, {
    startContainer: async (...args: Parameters<typeof startContainer>) => {
      await startContainer(...args);
      hasStarted = true;
    },
    listContainers: async (...args: Parameters<typeof listContainers>) => {
      const found = await listContainers(...args);
      if (hasStarted) await world.clock.sleep(10_000, args[1]);
      return found;
    },
  });
  world.startAgent();
  await world.advance(5_000);
  await startPod(world, {});
  for (let i = 0; i < 300 && !hasStarted; i += 1) await world.advance(100);
  await world.advance(1_000);
  const pipeline = world.agent?.pipeline;
  assert.deepEqual(
    pipeline?.pods.list().map(({ sync }) => sync.freshness),
    ["stale"],
    "it is being observed",
  );
  // Of a busy pod the watcher would drop them.
  assert.deepEqual(
    pipeline.podFacts.values().map(({ busy }) => busy),
    [false],
  );
  world.killAgent();
});

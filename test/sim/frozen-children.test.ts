// A container that has frozen a child of its own: nothing ends it before its cgroup is thawed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf } from "./programs.ts";
import { MANIFESTS, World } from "./world.ts";

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "freezer" },
  spec: {
    terminationGracePeriodSeconds: 10,
    containers: [
      {
        name: "main",
        image: "nodelet.test/nodelet-test:1",
        command: commandOf({ kind: "sleep" }),
      },
    ],
  },
};

/** A running pod whose runtime waits for ever for what is frozen; `call` is the one that does. */
async function frozen(call: "stopContainer" | "stopSandbox"): Promise<World> {
  const world = new World(5, {}, { cgroupVersion: 1 });
  const { cgroups, files } = world.host;
  const { runtime } = world.runtime;
  const { stopContainer, stopSandbox } = runtime;
  const untilThawed = async (signal: AbortSignal) => {
    while (cgroups.frozen.size > 0) await world.clock.sleep(1_000, signal);
  };
  const slow: Partial<typeof runtime> =
    call === "stopContainer"
      ? {
          stopContainer: async (id, graceSeconds, signal) => {
            await untilThawed(signal);
            await stopContainer(id, graceSeconds, signal);
          },
        }
      : {
          stopSandbox: async (id, signal) => {
            await untilThawed(signal);
            await stopSandbox(id, signal);
          },
        };
  Object.assign(runtime, slow);
  await files.makeDirectory(MANIFESTS, 0o755);
  await files.writeAtomic(`${MANIFESTS}/p.json`, JSON.stringify(POD), 0o644);
  world.startAgent();
  await world.advance(10_000);
  const [sandbox] = world.runtime.sandboxes.values();
  const group = `${sandbox?.config.linux?.cgroupParent}/main/child`;
  await cgroups.create(group);
  cgroups.frozen.add(group);
  return world;
}

for (const call of ["stopContainer", "stopSandbox"] as const)
  test(`a frozen child does not keep its pod terminating: ${call}`, async () => {
    const world = await frozen(call);
    await world.host.files.remove(`${MANIFESTS}/p.json`);
    await world.advance(60_000);
    assert.deepEqual(world.agent?.pipeline.pods.list(), []);
    assert.equal(world.runtime.containers.size, 0);
    world.killAgent();
  });

test("nor one that is frozen again while its container is being stopped", async () => {
  const world = await frozen("stopContainer");
  const { cgroups } = world.host;
  const [group = ""] = cgroups.frozen;
  const thaw = cgroups.thaw.bind(cgroups);
  let left = 1;
  cgroups.thaw = async (path) => {
    await thaw(path);
    if (left > 0) cgroups.frozen.add(group);
    left -= 1;
  };
  await world.host.files.remove(`${MANIFESTS}/p.json`);
  await world.advance(60_000);
  assert.deepEqual(world.agent?.pipeline.pods.list(), []);
  world.killAgent();
});

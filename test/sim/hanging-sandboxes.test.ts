// Pods whose sandboxes hang, as by a network plugin that waits for its server: the others start.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf } from "./programs.ts";
import { MANIFESTS, World } from "./world.ts";

const pod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    containers: [
      {
        name: "main",
        image: "nodelet.test/nodelet-test:1",
        command: commandOf({ kind: "sleep" }),
      },
    ],
  },
});

test("pods start within a minute although the sandboxes of twenty others hang", async () => {
  const world = new World(3);
  const { runtime } = world.runtime;
  const { runSandbox } = runtime;
  Object.assign(runtime, {
    runSandbox: async (...args: Parameters<typeof runSandbox>) => {
      const [config, , signal] = args;
      if (config.metadata?.name?.startsWith("hangs") === true)
        await world.clock.sleep(3_600_000, signal);
      return await runSandbox(...args);
    },
  });
  const start = async (name: string) => {
    const manifest = JSON.stringify(pod(name));
    await world.host.files.writeAtomic(`${MANIFESTS}/${name}.json`, manifest, 0o644);
  };
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  for (let i = 0; i < 20; i += 1) await start(`hangs-${i}`);
  world.startAgent();
  await world.advance(10_000);
  for (let i = 0; i < 5; i += 1) await start(`good-${i}`);
  await world.advance(60_000);
  const running = world.agent?.pipeline.statuses
    .list()
    .filter(({ status }) => status.phase === "Running").length;
  assert.equal(running, 5);
  world.killAgent();
});

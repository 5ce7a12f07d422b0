// Dead containers that the runtime cannot remove: the pod goes on without that.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf } from "./programs.ts";
import { MANIFESTS, World } from "./world.ts";

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "crashing" },
  spec: {
    restartPolicy: "Always",
    containers: [
      {
        name: "main",
        image: "nodelet.test/nodelet-test:1",
        command: commandOf({ kind: "exit", code: 1, afterMs: 1_000 }),
      },
    ],
  },
};

/** Ended attempts that the runtime has. */
const deadOf = ({ runtime }: World): number =>
  [...runtime.containers.values()].filter(({ state }) => state === "exited").length;

test("a container is restarted although its earlier attempts cannot be removed, which is done once they can", async () => {
  const world = new World(3);
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  await world.host.files.writeAtomic(`${MANIFESTS}/p.json`, JSON.stringify(POD), 0o644);
  world.runtime.refused.add("removeContainer");
  world.startAgent();
  await world.advance(10 * 60_000);
  const [pod] = world.agent?.pipeline.statuses.list() ?? [];
  assert.ok((pod?.status.containerStatuses?.[0]?.restartCount ?? 0) >= 5);
  assert.ok(deadOf(world) >= 5);
  world.runtime.refused.delete("removeContainer");
  await world.advance(30_000);
  assert.equal(deadOf(world), 1);
  world.killAgent();
});

/** The agent is killed while a plugin is asked for devices, on real containerd. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createSeededRandom } from "../../src/kit/random.ts";
import { withBox } from "../box/box.ts";
import { BOX, DeviceNode, gpuPod } from "./boxed-plugin.ts";

const DEVICES = 8;
const WANTED = 3;
const HOLD_MS = 150;
/** From before the answer until the container is about to start. */
const LATEST_KILL_MS = 2 * HOLD_MS;

/**
 * Each round: a pod asks for 3 of 8 devices, the agent is killed at a random moment during or just after
 * Allocate and started again. Then the pod runs with its devices as they are seen from inside, and report,
 * monitors' socket and containers agree about who has what; nothing is lost, nothing has two owners.
 */
export async function killedWhileAsking(rounds: number, seed: number): Promise<void> {
  const random = createSeededRandom(seed);
  await withBox(BOX, async (box) => {
    const node = await DeviceNode.start(box, "node", { devices: DEVICES, holdMs: HOLD_MS });
    const { agent } = node;
    const all = (await node.monitored()).allocatable;
    assert.equal(all.length, DEVICES);
    for (let round = 1; round <= rounds; round += 1) {
      const name = `p${round}`;
      const asked = node.calls("allocate").length;
      agent.apply(`${name}.yaml`, gpuPod(name, WANTED));
      await agent.until("the plugin is asked", () => node.calls("allocate").length > asked);
      const afterMs = Math.floor(random.next() * LATEST_KILL_MS);
      await sleep(afterMs);
      await agent.kill();
      if (round > 1) agent.remove(`p${round - 1}.yaml`);
      await agent.start();
      await agent.until(`${name} has checked`, () => node.seen(name).length > 0, 60_000);
      await agent.until("the one before is gone", async () => (await node.owners()).size === 1);
      const label = `round ${round} of seed ${seed}, killed ${afterMs} ms after Allocate began`;
      const owners = await node.owners();
      const ids = [...(owners.get(name) ?? [])].sort();
      assert.equal(new Set(ids).size, WANTED, label);
      assert.deepEqual(node.seen(name).at(-1)?.variable.split(","), ids, label);
      assert.deepEqual((await node.monitored()).owners, new Map([[name, ids]]), label);
      const counts = { free: DEVICES - WANTED, owned: WANTED, unusable: 0 };
      assert.deepEqual((await node.resource())?.counts, counts, label);
    }
    agent.remove(`p${rounds}.yaml`);
    await agent.until("all are free", async () => (await node.owners()).size === 0);
    const { owners, allocatable } = await node.monitored();
    assert.deepEqual({ owners, allocatable }, { owners: new Map(), allocatable: all });
  });
}

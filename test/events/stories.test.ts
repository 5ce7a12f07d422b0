// What users see in every story of a pod and of a node: type, reason, text and the container it is about.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AgentWorld } from "./agent-world.ts";
import { NODE_STORIES } from "./node-stories.ts";
import { POD_STORIES } from "./pod-stories.ts";

for (const { name, world: options, live, about = "web", reported } of [
  ...POD_STORIES,
  ...NODE_STORIES,
])
  test(`${name}`, async () => {
    const world = await AgentWorld.start(options);
    await live(world);
    await world.clock.advance(2_000);
    const all = world.reported(about);
    let from = 0;
    for (const line of reported) {
      const at = all.indexOf(line, from);
      assert.ok(at >= 0, `not reported: ${line}\nsaid:\n  ${all.join("\n  ")}`);
      from = at + 1;
    }
    world.faults.clear();
    await world.stop();
  });

test("an agent that cannot start says why", async () => {
  const world = new AgentWorld();
  world.faults.set("cgroup.create", "read-only file system");
  await assert.rejects(world.start(), /read-only file system/);
  const all = world.reported();
  assert.ok(
    all.some((line) => line.startsWith("Warning KubeletSetupFailed: ")),
    all.join("\n"),
  );
});

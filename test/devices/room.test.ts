import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceWorld, FOLDER, GPU, gpus, podOf } from "./world.ts";

test("a plugin registers, a pod gets devices, an ended pod gives them back", async () => {
  const world = await new DeviceWorld().open();
  const { plugin } = await world.startPlugin(gpus(4));
  assert.deepEqual(world.devices.capacity.get().counts.get(GPU), { capacity: 4, allocatable: 4 });
  const pod = podOf("a", "c=2");
  assert.deepEqual(await world.grant(pod), { kind: "granted" });
  assert.equal(world.held("a"), "c=g0+g1");
  assert.deepEqual(plugin.allocated, [["g0", "g1"]]);
  assert.ok((await world.host.files.paths).includes(`${FOLDER}/kubelet_internal_checkpoint`));
  world.observe(pod, { running: new Set(["c"]) });
  assert.equal(world.free(), 2);
  world.observe(pod, { ended: true });
  assert.equal(world.held("a"), "");
  assert.equal(world.free(), 4);
  await world.close();
});

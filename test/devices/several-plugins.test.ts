// Several plugins at once: of one resource, and of two resources whose devices have equal ids.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid } from "../../src/api/observation.ts";
import { DeviceWorld, GPU, gpus, podOf } from "./world.ts";

test("two plugins of one resource: the newer one serves, the other one takes over, and only the last one's end counts", async () => {
  const world = await new DeviceWorld().open();
  const counts = () => world.devices.capacity.get().counts.get(GPU);
  const seen: (number | undefined)[] = [];
  world.devices.capacity.subscribe(({ counts: now }) => seen.push(now.get(GPU)?.allocatable));
  const old = await world.startPlugin(gpus(2));
  const next = await world.startPlugin(gpus(3), { socketName: "gpu2.sock" });
  await world.grant(podOf("a", "c=1"));
  assert.deepEqual([old.plugin.allocated.length, next.plugin.allocated.length], [0, 1]);
  // What the one that stands by lists does not count as long as the other one serves.
  old.plugin.setHealth("g0", false);
  await world.clock.advance(1_000);
  assert.deepEqual(counts(), { capacity: 3, allocatable: 3 });
  seen.length = 0;
  next.process.kill();
  await world.clock.advance(1_000);
  assert.deepEqual(counts(), { capacity: 2, allocatable: 1 });
  assert.deepEqual(seen, [1], "never 0 in between");
  await world.grant(podOf("b", "c=1"));
  assert.deepEqual(old.plugin.allocated, [["g1"]]);
  old.process.kill();
  await world.clock.advance(1_000);
  assert.deepEqual(counts(), { capacity: 2, allocatable: 0 });
  await world.clock.advance(300_000);
  assert.equal(counts(), undefined);
  assert.deepEqual(
    world.nodeEvents.map(({ reason }) => reason),
    ["DevicePluginRegistered", "DevicePluginRegistered", "DevicePluginGone"],
  );
  await world.close();
});

test("a plugin that registers while it is connected at the same socket is refused, and stays", async () => {
  const world = await new DeviceWorld().open();
  const { plugin } = await world.startPlugin(gpus(2));
  await assert.rejects(
    world.settled(plugin.register()),
    /device plugin already connected: \/var\/lib\/kubelet\/device-plugins\/gpu.sock/,
  );
  assert.equal(world.devices.capacity.get().counts.get(GPU)?.allocatable, 2);
  await world.close();
});

test("two plugins with equal ids: the health of a device is that of its own resource, at once", async () => {
  const world = await new DeviceWorld().open();
  const other = "v.com/nic";
  const { plugin } = await world.startPlugin(gpus(1));
  await world.startPlugin(gpus(1), { resource: other, socketName: "nic.sock" });
  await world.grant(podOf("a", "c=1"));
  await world.grant(podOf("b", "c=1", other));
  world.changed.length = 0;
  plugin.setHealth("g0", false);
  await world.clock.advance(1);
  const healthOf = (uid: string) =>
    world.devices
      .allocatedResources(uid as PodUid, "c")
      ?.map(({ resources }) => resources?.[0]?.health);
  assert.deepEqual([healthOf("a"), healthOf("b")], [["Unhealthy"], ["Healthy"]]);
  assert.deepEqual(world.changed, ["a health"]);
  await world.close();
});

test("the status names devices in the order of their ids, however they were given", async () => {
  const world = await new DeviceWorld().open();
  await world.startPlugin(gpus(3), {
    prefer: (available, amount) => available.toSorted().toReversed().slice(0, amount),
  });
  await world.grant(podOf("a", "c=2"));
  const [shown] = world.devices.allocatedResources("a" as PodUid, "c") ?? [];
  assert.deepEqual(
    shown?.resources?.map(({ resourceID }) => resourceID),
    ["g1", "g2"],
  );
  await world.close();
});

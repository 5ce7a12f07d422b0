import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodUid } from "../../src/api/observation.ts";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import { DevicesNotReady } from "../../src/subsystems/devices/devices.ts";
import { DeviceWorld, FOLDER, GPU, gpus, podOf, runningContainer } from "./world.ts";

const POD = podOf("a", "c=1");
const NOTE = `{"${GPU}":{"g0":[]}}`;

/** Starts the pod's container once more; resolves with the note of the devices that it gets. */
async function restart(world: DeviceWorld, pod: IdentifiedPod = POD): Promise<string | undefined> {
  const { annotations } = await world.parts(pod);
  return annotations["io.nodelet.devices"];
}

function notReady(text: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof DevicesNotReady && text.test(error.message);
}

test("a container that starts again keeps what it has, whatever became of the device and its plugin", async () => {
  const world = await new DeviceWorld().open();
  const { plugin, process } = await world.startPlugin(gpus(2));
  await world.grant(POD);
  plugin.setHealth("g0", false);
  await world.clock.advance(130_000);
  assert.equal(await restart(world), NOTE, "the device is unhealthy");
  plugin.devices = gpus(1, "h");
  await world.clock.advance(130_000);
  assert.equal(await restart(world), NOTE, "the device is not listed any more");
  plugin.devices = [];
  await world.clock.advance(130_000);
  assert.equal(await restart(world), NOTE, "no device is listed any more");
  process.kill();
  await world.clock.advance(10);
  assert.equal(await restart(world), NOTE, "the plugin is gone");
  await world.clock.advance(400_000);
  assert.equal(world.devices.capacity.get().counts.get(GPU), undefined);
  assert.equal(await restart(world), NOTE, "the resource is not known any more");
  assert.equal(plugin.allocated.length, 1);
  await world.close();
});

test("after a restart of the agent a container starts again before its plugin is back", async () => {
  const world = await new DeviceWorld().open();
  const { process } = await world.startPlugin(gpus(2));
  await world.grant(POD);
  for (const times of ["once", "twice"]) {
    world.kill();
    process.kill();
    await world.open();
    assert.equal(await restart(world), NOTE, times);
  }
  await world.close();
});

test("a container waits for a plugin that requires a word before the start, also after a restart of the agent", async () => {
  const world = await new DeviceWorld().open();
  const { plugin, process } = await world.startPlugin(gpus(2), { preStart: true });
  await world.grant(POD);
  plugin.setHealth("g0", false);
  await world.clock.advance(130_000);
  assert.equal(await restart(world), NOTE);
  assert.deepEqual(plugin.preStarted, [["g0"]]);
  process.kill();
  await world.clock.advance(10);
  await assert.rejects(restart(world), notReady(/register again/));
  world.kill();
  await world.open();
  await world.clock.advance(130_000);
  await assert.rejects(restart(world), notReady(/register again/));
  const back = await world.startPlugin(gpus(2), { preStart: true });
  assert.equal(await restart(world), NOTE);
  assert.deepEqual(back.plugin.preStarted, [["g0"]]);
  await world.close();
});

test("a container whose plugin's answer was lost waits for the plugin, and asks it even if the device is unhealthy", async () => {
  const world = await new DeviceWorld().open();
  const { process } = await world.startPlugin(gpus(1));
  await world.grant(POD);
  world.kill();
  process.kill();
  await world.host.files.remove(`${FOLDER}/kubelet_internal_checkpoint`);
  const observed = {
    asOf: 0 as never,
    sandboxes: [],
    containers: [runningContainer("c", NOTE)],
  };
  const uid = POD.metadata.uid as PodUid;
  await world.open([{ kind: "observed", uid, describe: () => POD, observed }]);
  await assert.rejects(restart(world), notReady(/register again/));
  const { plugin } = await world.startPlugin([{ id: "g0", healthy: false }]);
  assert.equal(await restart(world), NOTE);
  assert.deepEqual(plugin.allocated, [["g0"]]);
  await world.close();
});

test("a container that keeps its device is not placed again", async () => {
  const settings = { policy: "restricted", scope: "container", nodes: [0, 1] } as const;
  const world = await new DeviceWorld({}, settings).open();
  const { plugin } = await world.startPlugin([{ id: "g0", nodes: [0] }]);
  await world.grant(POD);
  plugin.devices = [{ id: "g1", nodes: [1] }];
  await world.clock.advance(130_000);
  assert.equal(await restart(world), `{"${GPU}":{"g0":[0]}}`);
  await world.close();
});

test("what a container does not have is still judged when it starts", async () => {
  const world = await new DeviceWorld().open();
  const { plugin } = await world.startPlugin(gpus(2));
  await world.grant(POD);
  const more = podOf("a", "c=2");
  await assert.rejects(restart(world, more), notReady(/changed request .* from 1 to 2/));
  plugin.setHealth("g1", false);
  await world.clock.advance(130_000);
  const other = podOf("b", "c=1");
  await assert.rejects(restart(world, other), notReady(/Requested: 1, Available: 0/));
  plugin.devices = gpus(2).map((each) => ({ ...each, healthy: false }));
  await world.clock.advance(10);
  await assert.rejects(restart(world, other), notReady(/no healthy devices present/));
  await world.close();
});

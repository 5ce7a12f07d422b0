import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceWorld, GPU, gpus, podOf } from "./world.ts";

const SLOW = "v.com/slow";
const PODS = 40;

/** A world with a plugin that is well, and one whose `Allocate` takes as long as `answer` says. */
async function besideSlow(answer: (world: DeviceWorld) => Promise<void>): Promise<DeviceWorld> {
  const world = await new DeviceWorld().open();
  await world.startPlugin(gpus(2));
  await world.startPlugin(gpus(PODS + 2, "s"), {
    resource: SLOW,
    socketName: "slow.sock",
    before: (call) => (call === "allocate" ? answer(world) : Promise.resolve()),
  });
  return world;
}

/** Milliseconds that admission of the pods takes, one after the other, and the verdicts. */
async function admit(world: DeviceWorld, pods: readonly ReturnType<typeof podOf>[]) {
  const began = world.clock.monotonic();
  const kinds: string[] = [];
  for (const pod of pods) kinds.push((await world.grant(pod)).kind);
  return { ms: world.clock.monotonic() - began, kinds };
}

test("a pod whose plugin is known to be slow is not waited for again", async () => {
  const gate = Promise.withResolvers<void>();
  const world = await besideSlow(() => gate.promise);
  const pod = podOf("slow", "c=1", SLOW);
  assert.deepEqual(await admit(world, [pod]), { ms: 250, kinds: ["deferred"] });
  assert.deepEqual(await admit(world, [pod]), { ms: 0, kinds: ["deferred"] });
  gate.resolve();
  await world.clock.advance(10);
  assert.ok(world.changed.includes("slow admission"));
  assert.deepEqual((await admit(world, [pod])).kinds, ["granted"]);
  await world.close();
});

test("many pods of a plugin that hangs do not hold up a pod that does not request its devices", async () => {
  const world = await besideSlow(() => new Promise(() => {}));
  const pods = Array.from({ length: PODS }, (_, i) => podOf(`slow${i}`, "c=1", SLOW));
  const first = await admit(world, [...pods, podOf("quick", "c=1", GPU)]);
  assert.equal(first.kinds.at(-1), "granted");
  assert.ok(first.ms < 1_000, `it took ${first.ms} ms`);
  await world.clock.advance(10_000);
  const again = await admit(world, [...pods, podOf("quick2", "c=1", GPU)]);
  assert.equal(again.kinds.at(-1), "granted");
  assert.ok(again.ms < 10, `it took ${again.ms} ms`);
  await world.close();
});

test("a pod that is to be refused is refused at once, however slow its plugin", async () => {
  const world = await besideSlow(() => new Promise(() => {}));
  await world.clock.advance(130_000);
  const pods = Array.from({ length: PODS }, (_, i) => podOf(`slow${i}`, "c=1", SLOW));
  await admit(world, pods);
  assert.deepEqual(await admit(world, [podOf("big", "c=3", SLOW)]), { ms: 0, kinds: ["refused"] });
  await world.close();
});

test("once a slow plugin has answered it is waited for as before", async () => {
  let answerMs = 2_000;
  const world = await besideSlow(({ clock }) =>
    clock.sleep(answerMs, new AbortController().signal),
  );
  const pods = ["a", "b", "c"].map((uid) => podOf(uid, "c=1", SLOW));
  assert.deepEqual((await admit(world, pods)).kinds, ["deferred", "deferred", "deferred"]);
  await world.clock.advance(3_000);
  assert.deepEqual((await admit(world, pods)).kinds, ["granted", "granted", "granted"]);
  answerMs = 200;
  assert.deepEqual((await admit(world, [podOf("d", "c=1", SLOW)])).kinds, ["granted"]);
  await world.close();
});

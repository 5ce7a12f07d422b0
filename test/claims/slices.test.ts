import assert from "node:assert/strict";
import { test } from "node:test";
import { OutsideError } from "../../src/kit/errors.ts";
import { ClaimWorld } from "./world.ts";

const ALL = "0 spec.nodeName=n";
const OF_DRIVER = "spec.nodeName=n,spec.driver=gpu.example.com";

/** Deletions since the start of one driver, with seconds since `from`. */
function since(world: ClaimWorld, from: number): readonly string[] {
  return world.deletions.slice(1).map((text) => {
    const [at = "", selector = ""] = text.split(" ");
    return `${Number(at) - from} ${selector}`;
  });
}

const now = (world: ClaimWorld) => Math.round(world.clock.monotonic() / 1000);

test("slices, vectors 43 and 45: all at the start, a driver's after it was away for 30 s", async () => {
  const world = await new ClaimWorld().open();
  await world.clock.advance(1);
  assert.deepEqual(world.deletions, [ALL]);
  const { driver } = await world.driver();
  await world.clock.advance(60_000);
  const lost = now(world);
  await driver.stop();
  await world.clock.advance(200_000);
  assert.deepEqual(since(world, lost), [`30 ${OF_DRIVER}`]);
  await world.close();
});

test("slices, vector 44: a driver that is back in time keeps them", async () => {
  const world = await new ClaimWorld().open();
  const { process } = await world.driver();
  process.kill();
  await world.clock.advance(20_000);
  await world.driver({ instance: "again" });
  await world.clock.advance(200_000);
  assert.deepEqual(since(world, 0), []);
  await world.close();
});

test("slices, vector 46: a driver that registers and never serves loses them", async () => {
  const world = await new ClaimWorld().open();
  const from = now(world);
  await world.claims.drivers.register({
    name: "gpu.example.com",
    socketPath: "/nowhere.sock",
    versions: ["v1.DRAPlugin"],
  });
  await world.clock.advance(100_000);
  assert.deepEqual(since(world, from), [`30 ${OF_DRIVER}`]);
  await world.close();
});

test("slices, vector 47: a second loss keeps the first deadline", async () => {
  const world = await new ClaimWorld().open();
  const { driver, process } = await world.driver();
  const lost = now(world);
  process.kill();
  await world.clock.advance(10_000);
  world.claims.drivers.deregister({
    name: "gpu.example.com",
    socketPath: driver.socketPath,
    versions: [],
  });
  await world.clock.advance(100_000);
  assert.deepEqual(since(world, lost), [`30 ${OF_DRIVER}`]);
  await world.close();
});

test("slices, vector 48: another instance keeps them", async () => {
  const world = await new ClaimWorld().open();
  const { process } = await world.driver({ instance: "a" });
  await world.driver({ instance: "b" });
  process.kill();
  await world.clock.advance(100_000);
  assert.deepEqual(since(world, 0), []);
  await world.close();
});

test("slices are tried again until they are deleted, and no more once the driver is back", async () => {
  const world = await new ClaimWorld().open();
  const { process } = await world.driver();
  world.deletionError = new OutsideError("unavailable", "no answer");
  process.kill();
  await world.clock.advance(2_000_000);
  const tries = world.deletions.length;
  assert.ok(tries > 10, `${tries} tries`);
  await world.driver({ instance: "again" });
  await world.clock.advance(2_000_000);
  assert.equal(world.deletions.length, tries);
  await world.close();
});

test("a driver registers once the slices of the time before are deleted, or after 10 s without an API server", async () => {
  for (const [answersAfterMs, registersBy] of [
    [3_000, 6_000],
    [60_000, 10_000],
  ] as const) {
    const world = new ClaimWorld();
    world.deletionError = new OutsideError("unavailable", "no answer");
    await world.open();
    let isRegistered = false;
    const registering = world.claims.drivers
      .register({ name: "gpu.example.com", socketPath: "/a.sock", versions: ["v1.DRAPlugin"] })
      .then(() => {
        isRegistered = true;
      });
    await world.clock.advance(answersAfterMs < registersBy ? answersAfterMs : registersBy - 100);
    assert.equal(isRegistered, false, "what it published would be deleted");
    if (answersAfterMs < registersBy) world.deletionError = undefined;
    await world.clock.advance(registersBy);
    assert.equal(isRegistered, true);
    await registering;
    await world.close();
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClaimDriverOptions } from "../support/claim-driver.ts";
import { ClaimWorld, claimingPod } from "./world.ts";

const P1 = claimingPod("p1", "c1", "c2");

/** A machine with one driver and claims c1, c2 of the pod. */
async function worldWith(options: Partial<ClaimDriverOptions> = {}) {
  const world = await new ClaimWorld().open();
  world.claim("c1", [P1]);
  world.claim("c2", [P1]);
  return { world, ...(await world.driver(options)) };
}

test("monitors read the claims of containers, each device with its own ids", async () => {
  const { world } = await worldWith({
    devices: ({ name }) => [
      { requestNames: ["a"], poolName: "p", deviceName: "d0", cdiDeviceIds: [`v/x=${name}-0`] },
      {
        requestNames: ["b"],
        poolName: "p",
        deviceName: "d1",
        cdiDeviceIds: [`v/x=${name}-1`],
        shareId: "s",
      },
    ],
  });
  assert.deepEqual([...world.claims.held.heldBy(P1)], []);
  await world.prepare(P1);
  const common = { driverName: "gpu.example.com", poolName: "p" };
  assert.deepEqual(
    [...world.claims.held.heldBy(P1)],
    [
      [
        "c",
        {
          dynamicResources: [
            {
              claimName: "c1",
              claimNamespace: "default",
              claimResources: [
                { ...common, deviceName: "d0", cdiDevices: [{ name: "v/x=c1-0" }] },
                { ...common, deviceName: "d1", cdiDevices: [{ name: "v/x=c1-1" }], shareId: "s" },
              ],
            },
          ],
        },
      ],
    ],
  );
  await world.close();
});

/** What the status of the pod's container shows of its claims, and for how many pods it was published. */
function shownHealth(world: ClaimWorld): string {
  const [status] = world.claims.allocatedResources(P1.metadata.uid, "c");
  const all = (status?.resources ?? []).map(({ resourceID, health, message = "" }) =>
    `${resourceID} ${health} ${message}`.trim(),
  );
  return `${status?.name}: ${all.join(", ")}`;
}

test("health flaps, falls silent and ends: statuses follow, and only then", async () => {
  const { world, driver } = await worldWith();
  await world.prepare(P1);
  const published = () => world.news.splice(0).filter(({ kind }) => kind === "devices").length;
  const ID = "example.com/device=c1-uid";
  assert.equal(shownHealth(world), `claim:c1: ${ID} Unknown`);
  driver.report({ device: "of-c1-uid", health: 1 });
  await world.clock.advance(10);
  assert.equal(shownHealth(world), `claim:c1: ${ID} Healthy`);
  assert.equal(published(), 1);
  driver.report({ device: "of-c1-uid", health: 1 }, { device: "of-nobody", health: 1 });
  await world.clock.advance(20_000);
  assert.equal(published(), 0);
  driver.report({ device: "of-c1-uid", health: 2, message: "too hot" });
  await world.clock.advance(10);
  assert.equal(shownHealth(world), `claim:c1: ${ID} Unhealthy too hot`);
  await world.clock.advance(31_000);
  assert.equal(shownHealth(world), `claim:c1: ${ID} Unknown`);
  assert.equal(published(), 2, "once for each change");
  driver.report({ device: "of-c1-uid", health: 1 });
  await world.clock.advance(10);
  await driver.stop();
  await world.clock.advance(2_000);
  assert.equal(shownHealth(world), `claim:c1: ${ID} Unknown`);
  assert.equal(driver.watchers, 1);
  await world.close();
});

test("a driver that does not report health is not asked for it", async () => {
  const { world, driver } = await worldWith({ versions: ["v1.DRAPlugin"] });
  await world.clock.advance(60_000);
  assert.equal(driver.watchers, 0);
  await world.close();
});

test("health, vector 42: a device without CDI ids is shown by its names", async () => {
  const { world } = await worldWith({
    devices: () => [
      { requestNames: [], poolName: "p", deviceName: "d", cdiDeviceIds: [] },
      { requestNames: [], poolName: "p", deviceName: "e", cdiDeviceIds: ["v/c=1", "v/c=2"] },
    ],
  });
  await world.prepare(P1);
  assert.equal(shownHealth(world), "claim:c1: gpu.example.com/p/d Unknown, v/c=1 Unknown");
  await world.close();
});

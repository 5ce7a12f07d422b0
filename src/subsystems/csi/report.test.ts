// What `nodelet volumes` and `nodelet why` say of a volume that is stuck.
import assert from "node:assert/strict";
import { test } from "node:test";
import { podOfClaims } from "../../../test/support/csi-disk.ts";
import { beginLife, NEVER } from "../../../test/support/csi-life.ts";
import type { CsiWorld } from "../../../test/support/csi-world.ts";
import type { CsiReport } from "./report.ts";

type Volume = CsiReport["volumes"][number];

function stuck(world: CsiWorld): Partial<Volume> {
  const [volume] = world.csi.report().volumes;
  const { step, forSeconds, waitsFor } = volume ?? {};
  return {
    ...(step ? { step } : {}),
    ...(forSeconds === undefined ? {} : { forSeconds }),
    ...(waitsFor ? { waitsFor } : {}),
  };
}

test("a mount: the controller, the driver's answer, the driver itself, the next attempt; then nothing", async () => {
  const { world, faults } = await beginLife({ attaches: false });
  const mount = world.mount(podOfClaims("p", ["v"]));
  await world.clock.advance(5_000);
  assert.deepEqual(stuck(world), {
    step: "MountVolume.WaitForAttach",
    forSeconds: 5,
    waitsFor: "the controller to attach it to this node",
  });
  faults.set("St", "hang");
  world.attach();
  await world.clock.advance(1_000);
  assert.deepEqual(stuck(world), {
    step: "MountVolume.MountDevice",
    forSeconds: 6,
    waitsFor: "an answer of the driver d.csi",
  });
  world.killDriver();
  await world.clock.advance(4_000);
  assert.equal(stuck(world).waitsFor, "the driver d.csi to register on this node");
  faults.set("St", { status: "Internal" });
  await world.startDriver();
  await world.clock.advance(200);
  assert.equal(stuck(world).waitsFor, "the next attempt");
  faults.clear();
  assert.equal(await world.done(mount.over), true);
  assert.deepEqual(stuck(world), {});
});

test("a mount of a volume for one pod only: the other pod", async () => {
  const { world, mounted, unmounted } = await beginLife();
  world.addVolume("v", { pv: { accessModes: ["ReadWriteOncePod"] } });
  await mounted(podOfClaims("p", ["v"]));
  const second = world.mount(podOfClaims("q", ["v"]));
  await world.clock.advance(1_000);
  assert.equal(stuck(world).waitsFor, "the other pod to end");
  await unmounted(podOfClaims("p", ["v"]));
  assert.equal(await world.done(second.over), true);
  assert.deepEqual(stuck(world), {});
});

test("an unmount: its step, since when, and the driver", async () => {
  const { world, faults, mounted } = await beginLife();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  faults.set("Up", "hang");
  const gone = world.unmount(pod, NEVER);
  await world.clock.advance(3_000);
  assert.deepEqual(stuck(world), {
    step: "UnmountVolume.TearDown",
    forSeconds: 3,
    waitsFor: "an answer of the driver d.csi",
  });
  assert.deepEqual(world.csi.report().volumes[0]?.pods, [{ pod: "default/p", state: "leaving" }]);
  faults.clear();
  faults.set("Us", { status: "Internal" });
  await world.clock.advance(121_000);
  await world.done(gone);
  await world.clock.advance(2_000);
  assert.equal(stuck(world).step, "UnmountDevice");
  faults.clear();
  await world.clock.advance(10_000);
  assert.deepEqual(world.csi.report().volumes, []);
});

test("a pod that could not have a volume of others goes: nothing is said of it any more", async () => {
  const { world, faults, mounted } = await beginLife();
  await mounted(podOfClaims("p", ["v"]));
  faults.set("Pb", { status: "InvalidArgument" });
  const other = podOfClaims("q", ["v"]);
  const mount = world.mount(other);
  await world.clock.advance(2_000);
  const [failed] = world.csi.report().volumes;
  assert.match(failed?.problem ?? "", /InvalidArgument/);
  assert.equal(failed?.waitsFor, "the next attempt");
  mount.stop();
  await mount.over;
  await world.done(world.unmount(other, NEVER));
  const [volume] = world.csi.report().volumes;
  assert.deepEqual(volume?.pods, [{ pod: "default/p", state: "mounted" }]);
  for (const what of ["problem", "failures", "step", "forSeconds", "waitsFor"] as const)
    assert.equal(volume?.[what], undefined, what);
});

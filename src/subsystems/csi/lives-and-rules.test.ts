// Lives of a volume by rules of the cluster: SELinux labels, the number of volumes of a driver, claims that are being deleted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { podOfClaims } from "../../../test/support/csi-disk.ts";
import { assertClean, beginLife } from "../../../test/support/csi-life.ts";
import type { CSINode, PodSecurityContext } from "../../api/generated/types.ts";

const labelled = (uid: string, level: string, policy?: string) => {
  const securityContext: PodSecurityContext = {
    seLinuxOptions: { level },
    ...(policy ? { seLinuxChangePolicy: policy } : {}),
  };
  return podOfClaims(uid, ["v"], { securityContext });
};

test("25: a second pod with another SELinux label gets the volume after the first, by the runtime's labels", async () => {
  const { world, calls, mounted, unmounted } = await beginLife({
    hasSelinux: true,
    object: { seLinuxMount: true },
  });
  world.addVolume("v", { pv: { accessModes: ["ReadWriteOncePod"] } });
  const [a, b] = [labelled("a", "s0:c1"), labelled("b", "s0:c2", "Recursive")];
  await mounted(a);
  const second = world.mount(b);
  await world.clock.advance(1_000);
  assert.equal(calls(), "St Pb");
  await unmounted(a);
  assert.equal(await world.done(second.over), true);
  assert.equal(calls(), "St Pb Up Pb");
  for (const { volumeCapability } of [...world.driver.stages, ...world.driver.publishes])
    assert.deepEqual(
      volumeCapability?.accessType?.$case === "mount" &&
        volumeCapability.accessType.value.mountFlags,
      [],
    );
  await unmounted(b);
  await assertClean(world);
});

for (const [name, options, isRefused] of [
  ["refused", { hasSelinux: true, object: { seLinuxMount: true } }, true],
  ["not asked of a driver without", { hasSelinux: true }, false],
  ["nothing without SELinux", { object: { seLinuxMount: true } }, false],
] as const)
  test(`25b: mounting with a SELinux label that the pod insists on: ${name}`, async () => {
    const { world, calls, unmounted } = await beginLife(options);
    const pod = labelled("p", "s0:c1", "MountOption");
    const mount = world.mount(pod);
    await world.clock.advance(400);
    assert.equal(calls(), isRefused ? "" : "St Pb");
    if (isRefused)
      assert.match(
        world.events[0] ?? "",
        /^Warning FailedMount: MountVolume.MountDevice failed for volume "v" : driver d.csi mounts with SELinux labels .* set seLinuxChangePolicy to Recursive/,
      );
    mount.stop();
    await mount.over;
    await unmounted(pod);
    await assertClean(world);
  });

const countOf = (node: unknown) => (node as CSINode).spec.drivers[0]?.allocatable?.count;

test("26: a pod whose volume the full node cannot attach is rejected, and the driver asked for its number again", async () => {
  const { world, calls, unmounted } = await beginLife({
    attaches: false,
    object: { nodeAllocatableUpdatePeriodSeconds: 3600 },
    driver: { maxVolumes: 9 },
  });
  world.failAttach("v", { errorCode: 8, message: "no slot is free" });
  Object.assign(world.driver.options, { maxVolumes: 3 });
  const pod = podOfClaims("p", ["v"]);
  const mount = world.mount(pod);
  await world.clock.advance(122_000);
  assert.deepEqual(world.ends, []);
  await world.clock.advance(2_000);
  assert.equal(calls(), "");
  const text =
    "Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[v], unattached volumes=[], failed to process volumes=[]: context deadline exceeded";
  assert.deepEqual(
    world.ends.map(({ reason, message }) => [reason, message]),
    [["VolumeAttachmentLimitExceeded", `Pod was rejected: ${text}`]],
  );
  assert.deepEqual(world.events, [`Warning VolumeAttachmentLimitExceeded: ${text}`]);
  assert.equal(countOf(world.objects.byPath.get("csinodes/node")), 3);
  mount.stop();
  await mount.over;
  await unmounted(pod);
  await assertClean(world);
});

for (const [name, object, errorCode] of [
  ["another failure", { nodeAllocatableUpdatePeriodSeconds: 3600 }, 13],
  ["a driver whose number stays", {}, 8],
] as const)
  test(`26b: a volume that is not attached is no reason to reject its pod: ${name}`, async () => {
    const { world, unmounted } = await beginLife({ attaches: false, object });
    world.failAttach("v", { errorCode, message: "no" });
    const pod = podOfClaims("p", ["v"]);
    const mount = world.mount(pod);
    await world.clock.advance(250_000);
    assert.deepEqual(world.ends, []);
    mount.stop();
    await mount.over;
    await unmounted(pod);
    await assertClean(world);
  });

test("27: a claim that is being deleted and still protected is mounted again after a restart", async () => {
  const { world, calls, mounted, unmounted } = await beginLife();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  const claim = world.claim("v");
  const deleted = {
    ...claim.metadata,
    deletionTimestamp: "2026-01-01T00:00:00Z",
    finalizers: ["kubernetes.io/pvc-protection"],
  };
  world.objects.set("persistentvolumeclaims", "v", { ...claim, metadata: deleted });
  world.killAgent();
  await world.startAgent();
  await world.registerAgain();
  await mounted(pod);
  assert.equal(calls(), "St Pb St Pb");
  const { finalizers: _, ...unprotected } = deleted;
  world.objects.set("persistentvolumeclaims", "v", { ...claim, metadata: unprotected });
  const late = world.mount(podOfClaims("q", ["v"]));
  await world.clock.advance(600);
  assert.match(world.events.at(-1) ?? "", /error processing PVC default\/v: PVC is being deleted$/);
  late.stop();
  await late.over;
  await unmounted(podOfClaims("q", ["v"]));
  await unmounted(pod);
  assert.equal(calls(), "St Pb St Pb Up Us");
  await assertClean(world);
});

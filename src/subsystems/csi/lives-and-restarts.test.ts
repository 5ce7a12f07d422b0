// Lives of a volume over restarts of the agent, with republishing, growth, devices and drivers that hang.
import assert from "node:assert/strict";
import { test } from "node:test";
import { podOfClaims } from "../../../test/support/csi-disk.ts";
import { assertClean, beginLife, NEVER } from "../../../test/support/csi-life.ts";

test("16: a restart of the agent stages and publishes again, and takes nothing away", async () => {
  const { world, calls, mounted, unmounted } = await beginLife();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  world.killAgent();
  await world.startAgent();
  assert.deepEqual(world.csi.volumesInUse(), ["kubernetes.io/csi/d.csi^h-v"]);
  await world.registerAgain();
  await mounted(pod);
  assert.equal(calls(), "St Pb St Pb");
  await unmounted(pod);
  assert.equal(calls(), "St Pb St Pb Up Us");
  await assertClean(world);
});

test("17, 18: a pod that was deleted while the agent was down is cleaned up, once the driver is there", async () => {
  const { world, calls, mounted } = await beginLife();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  world.killAgent();
  await world.startAgent();
  const cleared = world.unmount(pod, NEVER);
  await world.clock.advance(5_000);
  assert.equal(calls(), "St Pb");
  assert.deepEqual(world.csi.volumesInUse(), ["kubernetes.io/csi/d.csi^h-v"]);
  await world.registerAgain();
  await world.done(cleared);
  await world.clock.advance(50);
  assert.equal(calls(), "St Pb Up Us");
  await assertClean(world);
});

test("a volume that was unpublished and not yet unstaged when the agent was killed is unstaged by the next", async () => {
  const { world, faults, calls, mounted, unmounted } = await beginLife();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  faults.set("Us", { status: "Internal" });
  await unmounted(pod);
  world.killAgent();
  faults.clear();
  await world.startAgent();
  assert.deepEqual(world.csi.volumesInUse(), ["kubernetes.io/csi/d.csi^h-v"]);
  await world.registerAgain();
  await world.clock.advance(1_000);
  assert.match(calls(), /^St Pb Up Us Us$/);
  await assertClean(world);
});

test("19: requiresRepublish publishes again each minute; a refusal leaves the pod what it has", async () => {
  const { world, faults, calls, mounted, unmounted } = await beginLife({
    object: { requiresRepublish: true, tokenRequests: [{ audience: "a" }] },
  });
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  assert.match(
    world.driver.publishes[0]?.volumeContext["csi.storage.k8s.io/serviceAccount.tokens"] ?? "",
    /^\{"a":\{"token":"token for a","expirationTimestamp":"20/,
  );
  await world.clock.advance(61_000);
  assert.equal(calls(), "St Pb Pb");
  faults.set("Pb", { status: "Internal" });
  await world.clock.advance(61_000);
  assert.equal(calls(), "St Pb Pb Pb");
  assert.equal(world.driver.present.length, 2);
  faults.clear();
  await world.clock.advance(61_000);
  assert.equal(calls(), "St Pb Pb Pb Pb");
  await unmounted(pod);
  await assertClean(world);
});

test("20: a block volume is staged, published, held, and all of it undone", async () => {
  const { world, calls, mounted, unmounted } = await beginLife();
  world.addVolume("v", { pv: { volumeMode: "Block" } });
  const pod = podOfClaims("p", [], {
    containers: [{ name: "c", volumeDevices: [{ name: "v", devicePath: "/dev/x" }] }],
    volumes: [{ name: "v", persistentVolumeClaim: { claimName: "v" } }],
  });
  await mounted(pod);
  assert.equal(calls(), "St Pb");
  const blocks = "/r/plugins/kubernetes.io/csi/volumeDevices";
  assert.equal(world.driver.stages[0]?.stagingTargetPath, `${blocks}/staging/v`);
  assert.equal(world.driver.publishes[0]?.targetPath, `${blocks}/publish/v/p`);
  assert.deepEqual(world.host.volumes.held, [`${blocks}/v/dev/p`]);
  assert.equal(world.events.length, 2);
  await unmounted(pod);
  assert.equal(calls(), "St Pb Up Us");
  assert.deepEqual(
    await world.host.files.list(blocks).then((all) => all?.map(({ name }) => name)),
    ["publish", "staging"],
  );
  await world.host.files.removeTree(blocks);
  await assertClean(world);
});

test("24: a volume for one pod only waits until the first pod is gone", async () => {
  const { world, calls, mounted, unmounted } = await beginLife();
  world.addVolume("v", { pv: { accessModes: ["ReadWriteOncePod"] } });
  await mounted(podOfClaims("a", ["v"]));
  const second = world.mount(podOfClaims("b", ["v"]));
  await world.clock.advance(1_000);
  assert.equal(calls(), "St Pb");
  assert.match(
    world.events[0] ?? "",
    /MountVolume.SetUp failed for volume "v" : volume uses the ReadWriteOncePod access mode and is already in use by another pod$/,
  );
  await unmounted(podOfClaims("a", ["v"]));
  assert.equal(await world.done(second.over), true);
  assert.equal(calls(), "St Pb Up Pb");
  await unmounted(podOfClaims("b", ["v"]));
  await assertClean(world);
});

test("a volume that no controller has attached waits without an event, and goes on when it is", async () => {
  const { world, calls, mounted, unmounted } = await beginLife({ attaches: false });
  const pod = podOfClaims("p", ["v"]);
  const mount = world.mount(pod);
  await world.clock.advance(30_000);
  assert.equal(calls(), "");
  assert.deepEqual(world.events, []);
  assert.equal(world.objects.asked.includes("volumeattachments"), false);
  world.attach();
  const began = world.clock.monotonic();
  assert.equal(await world.done(mount.over), true);
  assert.ok(world.clock.monotonic() - began < 500);
  await mounted(pod);
  await unmounted(pod);
  await assertClean(world);
});

test("a pod that comes just as the volume has been unstaged has it, and gives it back", async () => {
  let onUnstaged = () => {};
  const { world, calls, mounted, unmounted } = await beginLife({
    driver: { onDone: (call) => (call === "Us" ? onUnstaged() : undefined) },
  });
  await mounted(podOfClaims("p", ["v"]));
  const next = podOfClaims("q", ["v"]);
  let late: ReturnType<typeof world.mount> | undefined;
  onUnstaged = () => {
    late ??= world.mount(next);
  };
  await unmounted(podOfClaims("p", ["v"]));
  assert.ok(late);
  assert.equal(await world.done(late.over), true);
  assert.equal(calls(), "St Pb Up Us St Pb");
  assert.deepEqual(world.csi.volumesInUse(), ["kubernetes.io/csi/d.csi^h-v"]);
  await unmounted(next);
  assert.equal(calls(), "St Pb Up Us St Pb Up Us");
  await assertClean(world);
});

test("a volume that comes back while the report without it is on its way is not staged before the next one", async () => {
  const { world, calls, mounted, unmounted } = await beginLife({ reportMs: 500 });
  await mounted(podOfClaims("p", ["v"]));
  await unmounted(podOfClaims("p", ["v"]));
  const inUse = () => world.node.get()?.status?.volumesInUse ?? [];
  assert.equal(inUse().length, 1, "the report is on its way");
  const back = world.mount(podOfClaims("q", ["v"]));
  await world.clock.advance(300);
  assert.equal(calls(), "St Pb Up Us");
  await world.clock.advance(400);
  assert.deepEqual([calls(), inUse()], ["St Pb Up Us", []]);
  assert.equal(await world.done(back.over), true);
  assert.equal(inUse().length, 1);
  await unmounted(podOfClaims("q", ["v"]));
  await world.clock.advance(2_000);
  await assertClean(world);
});

test("a driver that hangs holds up its own volume only, and is given up after two minutes", async () => {
  const { world, faults, calls, mounted, unmounted } = await beginLife();
  world.addVolume("w");
  faults.set("St", "hang");
  const stuck = world.mount(podOfClaims("p", ["v"]));
  await world.clock.advance(1_000);
  faults.clear();
  await mounted(podOfClaims("q", ["w"]));
  assert.equal(calls(), "St St Pb");
  await world.clock.advance(121_000);
  assert.equal(await world.done(stuck.over), true);
  assert.match(world.events[0] ?? "", /MountVolume.MountDevice failed .* code = DeadlineExceeded/);
  await unmounted(podOfClaims("p", ["v"]));
  await unmounted(podOfClaims("q", ["w"]));
  await assertClean(world);
});

/** A claim whose volume has grown on the side of the controller. */
const GROWN = {
  pv: { size: "2Gi" },
  status: {
    phase: "Bound",
    capacity: { storage: "1Gi" },
    allocatedResources: { storage: "2Gi" },
    allocatedResourceStatuses: { storage: "NodeResizePending" },
  },
};

test("21: a volume that grows while its pod runs is expanded, and its claim says so", async () => {
  const { world, calls, mounted, unmounted } = await beginLife();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  world.addVolume("v", GROWN);
  await world.clock.advance(61_000);
  assert.equal(calls(), "St Pb Ex");
  const [expansion] = world.driver.expansions;
  assert.equal(expansion?.capacityRange?.requiredBytes, 2n * 1024n ** 3n);
  assert.equal(expansion?.volumePath, "/r/pods/p/volumes/kubernetes.io~csi/v/mount");
  const { status } = world.claim("v");
  assert.deepEqual(status?.capacity, { storage: "2Gi" });
  assert.deepEqual(status?.allocatedResourceStatuses, {});
  const said = 'MountVolume.NodeExpandVolume succeeded for volume "v" node';
  assert.deepEqual(world.events, [
    `Normal FileSystemResizeSuccessful: ${said}`,
    `Normal FileSystemResizeSuccessful: ${said}`,
  ]);
  await world.clock.advance(61_000);
  assert.equal(calls(), "St Pb Ex");
  await unmounted(pod);
  await assertClean(world);
});

test("22: a volume that has yet to grow is expanded before its pod starts", async () => {
  const { world, calls, mounted, unmounted } = await beginLife();
  world.addVolume("v", GROWN);
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  assert.equal(calls(), "St Pb Ex");
  await unmounted(pod);
  await assertClean(world);
});

test("23: growth that the driver finds out of range is given up until the claim changes", async () => {
  const { world, faults, calls, mounted, unmounted } = await beginLife();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  world.addVolume("v", GROWN);
  faults.set("Ex", { status: "OutOfRange" });
  await world.clock.advance(181_000);
  assert.equal(calls(), "St Pb Ex");
  assert.deepEqual(world.events, [
    'Warning VolumeResizeFailed: NodeExpandVolume.NodeExpandVolume failed for volume "v" : Expander.NodeExpand failed to expand the volume rpc error: code = OutOfRange desc = as the test asks',
  ]);
  const { status } = world.claim("v");
  assert.deepEqual(status?.allocatedResourceStatuses, { storage: "NodeResizeInfeasible" });
  assert.deepEqual(
    status?.conditions?.map(({ type }) => type),
    ["NodeResizeError"],
  );
  await unmounted(pod);
  await assertClean(world);
});

test("figures of a claim are the driver's", async () => {
  const { world, mounted, unmounted } = await beginLife();
  const pod = podOfClaims("p", ["v"]);
  await mounted(pod);
  await world.clock.advance(61_000);
  const [measured] = world.volumes.measuredClaims("p");
  assert.deepEqual(measured?.usage, {
    capacityBytes: 3 * 1024 ** 3,
    availableBytes: 1024 ** 3,
    usedBytes: 2 * 1024 ** 3,
    inodes: 30,
    inodesFree: 10,
    inodesUsed: 20,
  });
  await unmounted(pod);
  await assertClean(world);
});

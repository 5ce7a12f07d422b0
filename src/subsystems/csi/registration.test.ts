// Registration of drivers: versions, what the API knows of them, and how that changes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CsiWorld, DRIVER, SOCKET } from "../../../test/support/csi-world.ts";
import type { CSINode } from "../../api/generated/types.ts";
import { attachmentName, CsiPaths, inlineHandle } from "./csi-paths.ts";
import { highestSupported } from "./drivers/driver-version.ts";
import { planGrowth } from "./steps/plan-growth.ts";
import { accessMode, groupIsOurs } from "./wire/requests.ts";

const VERSIONS: readonly (readonly [versions: readonly string[], expect: string | undefined])[] = [
  [["v1.0.0"], "1.0.0"],
  [["0.3.0"], undefined],
  [["0.2.0", "v1.2.3"], "1.2.3"],
  [["v1.2.3", "4.9.12", "boo", "2.0.1"], "1.2.3"],
  [["4.9.12", "2.0.1"], undefined],
  [[], undefined],
  [["var", "boo"], undefined],
];

for (const [versions, expect] of VERSIONS)
  test(`of the versions [${versions.join(" ")}] ${expect ?? "none"} is taken`, () => {
    const found = highestSupported(versions);
    assert.equal("version" in found ? found.version.join(".") : undefined, expect);
  });

test("names and paths are those of the Go kubelet", () => {
  assert.equal(
    attachmentName("vol-1", "hostpath.csi.k8s.io", "node-1"),
    "csi-a5a2e67339ab5660a390dc86be397e784322823ff01f40cf2c01a72c3cab1374",
  );
  assert.equal(
    inlineHandle("11111111-2222-3333-4444-555555555555", "data"),
    "csi-e0e2b75806e876d63a85957d2797336825a703651cde295266d20131a0117810",
  );
  const volume = { driver: "d", handle: "vol-1", specName: "pv/1", isBlock: false };
  const paths = new CsiPaths("/r");
  assert.equal(
    paths.shared(volume).staging,
    "/r/plugins/kubernetes.io/csi/d/d2e8363faaac7ae76def3b14091d8eb5755f6b92e9531627aeec833a8731cc49/globalmount",
  );
  assert.equal(
    paths.forPod(volume, "uid").target,
    "/r/pods/uid/volumes/kubernetes.io~csi/pv~1/mount",
  );
  assert.throws(() => paths.forPod({ ...volume, specName: ".." }, "uid"), /cannot be the name/);
});

test("handles and names of drivers and volumes do not lead out of the folders of volumes", () => {
  const paths = new CsiPaths("/r");
  const volume = { driver: "d", handle: "../../../etc", specName: "pv", isBlock: false };
  assert.match(
    paths.shared(volume).staging,
    /^\/r\/plugins\/kubernetes.io\/csi\/d\/[0-9a-f]{64}\/globalmount$/,
  );
  for (const name of ["..", ".", "", "a\0b"]) {
    assert.throws(
      () => paths.shared({ ...volume, driver: name }),
      /cannot be the name of a folder/,
    );
    for (const isBlock of [false, true])
      assert.throws(() => paths.forPod({ specName: name, isBlock }, "uid"), /cannot be the name/);
  }
  assert.equal(
    paths.shared({ ...volume, specName: "../../x", isBlock: true }).published,
    "/r/plugins/kubernetes.io/csi/volumeDevices/publish/..~..~x",
  );
  // What is staged says its handle only, which may be any text.
  assert.match(paths.shared({ ...volume, specName: ".." }).staging, /csi\/d\/[0-9a-f]{64}\//);
  const { staging } = paths.shared({ ...volume, driver: "../../x" });
  assert.match(staging, /^\/r\/plugins\/kubernetes.io\/csi\/..~..~x\//);
});

for (const name of ["..", "", "../../etc"])
  test(`a driver that calls itself ${JSON.stringify(name)} is refused`, async () => {
    const world = await CsiWorld.start();
    await assert.rejects(
      world.csi.plugins.register({ name, socketPath: SOCKET, versions: ["1.0.0"] }),
      /cannot be the name of a folder: rename the driver$/,
    );
    assert.deepEqual(
      world.csi.report().drivers.map((each) => each.name),
      [DRIVER],
    );
  });

test("access modes by the first of the volume's", () => {
  const modes = ["ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany", "ReadWriteMany", "Other"];
  assert.deepEqual(
    modes.map((mode) => accessMode([mode], false)),
    [1, 1, 3, 5, 0],
  );
  assert.deepEqual(
    modes.map((mode) => accessMode([mode], true)),
    [7, 6, 3, 5, 0],
  );
  assert.equal(accessMode(["ReadOnlyMany", "ReadWriteOnce"], true), 3);
  assert.equal(accessMode([], false), 1);
});

test("who gives a volume to the pod's group", () => {
  const volume = {
    fsType: "ext4",
    accessModes: ["ReadWriteOnce"],
    readOnly: false,
    isInline: false,
  };
  const policy = "ReadWriteOnceWithFSType";
  const ours = (more: Partial<typeof volume>, rule: string, group?: number) =>
    groupIsOurs({ ...volume, ...more }, { policy: rule, group });
  assert.equal(ours({}, policy, 1), true);
  assert.equal(ours({}, policy), false);
  assert.equal(ours({}, "None", 1), false);
  assert.equal(ours({ readOnly: true }, "File", 1), false);
  assert.equal(ours({ fsType: "" }, "File", 1), true);
  assert.equal(ours({ fsType: "" }, policy, 1), false);
  assert.equal(ours({ accessModes: ["ReadWriteMany"] }, policy, 1), false);
  assert.equal(ours({ accessModes: [], isInline: true }, policy, 1), true);
});

const GIB = 1024n ** 3n;
const claimOf = (status: object, more: object = {}) => ({ status, ...more });
const GROWTH: readonly (readonly [name: string, claim: object, expect: string])[] = [
  ["legacy", claimOf({ capacity: { storage: "1Gi" } }), "expand 2 plain"],
  [
    "pending",
    claimOf({
      capacity: { storage: "1Gi" },
      allocatedResources: { storage: "2Gi" },
      allocatedResourceStatuses: { storage: "NodeResizePending" },
    }),
    "expand 2 noted",
  ],
  [
    "infeasible",
    claimOf({
      capacity: { storage: "1Gi" },
      allocatedResources: { storage: "2Gi" },
      allocatedResourceStatuses: { storage: "NodeResizeInfeasible" },
    }),
    "nothing",
  ],
  [
    "done elsewhere, for one node",
    claimOf({ capacity: { storage: "2Gi" }, allocatedResources: { storage: "2Gi" } }),
    "done 2",
  ],
  [
    "done elsewhere, for many nodes",
    claimOf(
      { capacity: { storage: "2Gi" }, allocatedResources: { storage: "2Gi" } },
      { spec: { accessModes: ["ReadWriteMany"] } },
    ),
    "expand 2 plain",
  ],
  [
    "for many nodes, none of which has to",
    claimOf(
      { capacity: { storage: "2Gi" }, allocatedResources: { storage: "2Gi" } },
      {
        spec: { accessModes: ["ReadWriteMany"] },
        metadata: { annotations: { "volume.kubernetes.io/node-expansion-not-required": "true" } },
      },
    ),
    "done 2",
  ],
];

for (const [name, claim, expect] of GROWTH)
  test(`growth: ${name}`, () => {
    const plan = planGrowth(claim, 2n * GIB);
    const size = "sizeBytes" in plan ? ` ${plan.sizeBytes / GIB}` : "";
    const noted = plan.kind === "expand" ? (plan.records ? " noted" : " plain") : "";
    assert.equal(`${plan.kind}${size}${noted}`, expect);
  });

const csiNode = (world: CsiWorld) => world.objects.byPath.get("csinodes/node") as CSINode;

test("a driver comes into CSINode and the node's annotation and labels, and out again", async () => {
  const world = await CsiWorld.start({
    driver: { nodeId: "n1", maxVolumes: 5, topology: { zone: "a" } },
  });
  assert.deepEqual(csiNode(world).spec.drivers, [
    { name: DRIVER, nodeID: "n1", topologyKeys: ["zone"], allocatable: { count: 5 } },
  ]);
  assert.deepEqual(csiNode(world).metadata?.ownerReferences, [
    { apiVersion: "v1", kind: "Node", name: "node", uid: "node-uid" },
  ]);
  const { annotations, labels } = world.node.get()?.metadata ?? {};
  assert.equal(annotations?.["csi.volume.kubernetes.io/nodeid"], `{"${DRIVER}":"n1"}`);
  assert.equal(labels?.["zone"], "a");
  world.csi.plugins.deregister({ name: DRIVER, socketPath: "/another", versions: [] });
  await world.clock.advance(1_000);
  assert.equal(csiNode(world).spec.drivers.length, 1);
  world.csi.plugins.deregister({ name: DRIVER, socketPath: SOCKET, versions: [] });
  await world.clock.advance(1_000);
  assert.deepEqual(csiNode(world).spec.drivers, []);
  assert.equal(world.node.get()?.metadata?.labels?.["zone"], "a");
});

test("the same version is refused while a driver serves; a newer one takes over", async () => {
  const world = await CsiWorld.start();
  const register = (version: string) =>
    world.done(
      world.csi.plugins.register({ name: DRIVER, socketPath: SOCKET, versions: [version] }),
    );
  await assert.rejects(
    register("1.0.0"),
    /Another driver with the same name is already registered with a higher supported version: "1.0.0"$/,
  );
  await register("1.0.1");
  assert.equal(world.csi.report().drivers[0]?.version, "1.0.1");
});

test("a driver that places the node elsewhere than its label is refused", async () => {
  const world = await CsiWorld.start({ driver: { topology: { zone: "a" } } });
  world.killDriver();
  await world.clock.advance(1_000);
  const node = world.node.get();
  const moved = { ...node, metadata: { ...node?.metadata, labels: { zone: "b" } } };
  world.objects.set("nodes", "node", moved);
  world.node.set(moved);
  await assert.rejects(
    world.startDriver(),
    /detected topology value collision: driver reported "zone":"a" but existing label is "zone":"b"$/,
  );
  assert.deepEqual(csiNode(world).spec.drivers, []);
});

test("a driver whose object says so is asked again how many volumes it can have", async () => {
  const driver = { maxVolumes: 5 };
  const world = await CsiWorld.start({
    driver,
    object: { nodeAllocatableUpdatePeriodSeconds: 10 },
  });
  Object.assign(world.driver.options, { maxVolumes: 8 });
  await world.clock.advance(9_000);
  assert.equal(csiNode(world).spec.drivers[0]?.allocatable?.count, 5);
  await world.clock.advance(2_000);
  assert.equal(csiNode(world).spec.drivers[0]?.allocatable?.count, 8);
});

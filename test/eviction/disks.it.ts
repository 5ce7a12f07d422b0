// Nodes that run short of disk, on real file systems of their own: filled by layers, logs, volumes, images and inodes,
// with one file system for everything and with one of its own for images. Three nodes side by side.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { PodSpec } from "../../src/api/generated/types.ts";
import { archiveFile, idOf, testImage } from "../box/images.ts";
import { loopObstacle } from "../support/loop-device.ts";
import { STAY } from "../support/stay.ts";
import { EvictionNode, type EvictionNodeOptions, MI, podSpec } from "./node.ts";

const PRESSURE = "DiskPressure";
const NODE_FOLDERS = ["/var/lib/kubelet", "/var/log/pods"];
const IMAGE_FOLDERS = ["/var/lib/containerd"];
const USUAL = `
imageMinimumGCAge: 1ms
imageGCHighThresholdPercent: 100
containerLogMaxSize: 1Gi`;

const skip = loopObstacle() ?? false;

/** Writes so many MiB to a file. */
const fill = (mib: number, to = "/tmp/big") =>
  `dd if=/dev/zero of=${to} bs=1M count=${mib} && sync; ${STAY}`;
/** Writes so many MiB of lines to the log. */
const fillLog = (mib: number) =>
  `yes "$(head -c 1000 /dev/zero | tr '\\0' x)" | head -c ${mib * MI}; ${STAY}`;
/** Makes so many files in the volume. */
const makeFiles = (count: number) =>
  `i=0; while [ $i -lt ${count} ]; do i=$((i + 1)); : >/data/$i; done; ${STAY}`;

const withVolume = (script: string): PodSpec => ({
  ...podSpec(script, { volumeMounts: [{ name: "data", mountPath: "/data" }] }),
  volumes: [{ name: "data", emptyDir: {} }],
});

/** Two neighbours that have written a little everywhere, so that they would come next. */
async function startNeighbours(node: EvictionNode): Promise<void> {
  await node.create(
    "a-neighbour",
    withVolume(`dd if=/dev/zero of=/data/some bs=1M count=3; ${fill(3)}`),
  );
  await node.create("z-neighbour", podSpec(STAY));
  await node.untilReady("a-neighbour", "z-neighbour");
}

/** The pod goes and nobody else, and the node takes new pods again. */
async function seeGo(node: EvictionNode, name: string, spec: PodSpec, message: RegExp) {
  const lives = await node.lives();
  assert.equal(await node.condition(PRESSURE), "False");
  const began = performance.now();
  await node.create(name, spec);
  await node.untilCondition(PRESSURE, "True");
  const { status } = await node.untilEvicted(name);
  const evictedMs = performance.now() - began;
  assert.match(status?.message ?? "", message);
  await node.untilCondition(PRESSURE, "False");
  assert.deepEqual(await node.evicted(), [name], "one pod goes, and no second one");
  assert.deepEqual(await node.lives(), lives, "the others run on");
  await node.create("again", podSpec(STAY));
  await node.untilReady("again");
  await node.remove("again", name);
  console.log(`# ${name}: evicted ${Math.round(evictedMs)} ms after it was made`);
}

const paddedImage = (name: string, mib: number) =>
  testImage({ names: [name], paddingBytes: mib * MI });

/** Brings images that nobody uses; each takes twice its size. */
async function bringImages(node: EvictionNode, count: number, mib: number) {
  const names = Array.from({ length: count }, (_, i) => `nodelet.test/unused-${i}:1`);
  // Not waited for until the runtime lists them: they may be removed before.
  for (const name of names)
    await node.box.ctr("images", "import", archiveFile([paddedImage(name, mib)]));
  return names;
}

async function unusedImages(node: EvictionNode): Promise<readonly string[]> {
  const listed = await node.box.ctr("images", "list", "-q");
  return listed.split("\n").filter((name) => name.startsWith("nodelet.test/unused-"));
}

/** An image that was used once. */
async function bringUsedImage(node: EvictionNode, image: string, mib: number): Promise<void> {
  await node.box.importImages([paddedImage(image, mib)]);
  const spec = podSpec(STAY);
  const containers = spec.containers.map((container) => ({ ...container, image }));
  await node.create("user", { ...spec, containers });
  await node.untilReady("user");
  await node.remove("user");
  // Has the agent list its images: one that it first sees when the disk is short is too young to go.
  await node.asked("/nodelet/v1/images");
}

/** Images that nobody uses go, and that is enough: every pod stays. */
async function seeImagesGo(node: EvictionNode): Promise<void> {
  const lives = await node.lives();
  await bringUsedImage(node, "nodelet.test/unused-used:1", 55);
  assert.equal(await node.condition(PRESSURE), "False");
  // Where an import takes long, the pressure is over before it.
  await Promise.all([node.untilCondition(PRESSURE, "True"), bringImages(node, 1, 55)]);
  await node.until(
    "the image that was used is gone",
    () => unusedImages(node),
    (left) => !left.includes("nodelet.test/unused-used:1"),
  );
  await node.untilCondition(PRESSURE, "False");
  assert.deepEqual(await node.evicted(), []);
  assert.deepEqual(await node.lives(), lives);
  const left = await unusedImages(node);
  // A name that goes leaves the image under its id in containerd 2.
  const ids = left.map((name) => idOf(paddedImage(name, 55)));
  const listed = (await node.box.ctr("images", "list", "-q")).split("\n");
  const gone = [...left, ...listed.filter((name) => ids.includes(name))];
  if (gone.length > 0) await node.box.ctr("images", "remove", "--sync", ...gone);
}

function onNode(
  name: string,
  options: EvictionNodeOptions,
  tests: (node: () => EvictionNode) => void,
): void {
  describe(name, { concurrency: 1 }, () => {
    let node: EvictionNode;
    before(async () => {
      node = await EvictionNode.start(options);
      await startNeighbours(node);
    });
    after(() => node?.[Symbol.asyncDispose]());
    tests(() => node);
  });
}

const shortOf = (threshold: string) =>
  new RegExp(
    `^The node was low on resource: ephemeral-storage\\. Threshold quantity: ${threshold}, available: \\d+(Ki|Mi)?\\. Container main was using \\d+(Ki|Mi)?, request is 0, has larger consumption of ephemeral-storage\\. $`,
  );

describe("nodes short of disk", { skip, concurrency: 3 }, () => {
  onNode(
    "one file system for all of the node",
    {
      config: `evictionHard: {nodefs.available: 120Mi}${USUAL}`,
      disks: [{ mib: 320, folders: [...NODE_FOLDERS, ...IMAGE_FOLDERS] }],
    },
    (node) => {
      test("filled by a writable layer", () =>
        seeGo(node(), "layer", podSpec(fill(190)), shortOf("120Mi")));
      test("filled by a log", () => seeGo(node(), "log", podSpec(fillLog(190)), shortOf("120Mi")));
      test("filled by a volume", () =>
        seeGo(node(), "volume", withVolume(fill(190, "/data/big")), shortOf("120Mi")));
    },
  );

  onNode(
    "one small file system with few inodes",
    {
      config: `evictionHard: {nodefs.available: 120Mi, nodefs.inodesFree: "3000"}${USUAL}`,
      disks: [{ mib: 320, inodes: 8_000, folders: [...NODE_FOLDERS, ...IMAGE_FOLDERS] }],
    },
    (node) => {
      test("filled by images that nobody uses: they go, and no pod has to", () =>
        seeImagesGo(node()));
      test("filled by inodes", () =>
        seeGo(
          node(),
          "inodes",
          withVolume(makeFiles(5_000)),
          /^The node was low on resource: inodes\. Threshold quantity: 3k, available: \d+k?\. $/,
        ));
      test("images go first, and then the pod when that is not enough", async () => {
        await bringUsedImage(node(), "nodelet.test/unused-small:1", 20);
        await seeGo(node(), "layer", podSpec(fill(190)), shortOf("120Mi"));
        assert.deepEqual(await unusedImages(node()), []);
      });
    },
  );

  onNode(
    "images on a file system of their own",
    {
      config: `evictionHard: {nodefs.available: 60Mi, imagefs.available: 100Mi}${USUAL}`,
      disks: [
        { mib: 160, folders: NODE_FOLDERS },
        { mib: 300, folders: IMAGE_FOLDERS },
      ],
    },
    (node) => {
      test("the node's is filled by a volume: images stay, the pod goes", async () => {
        const images = await bringImages(node(), 1, 10);
        const spec = withVolume(fill(95, "/data/big"));
        await seeGo(node(), "volume", spec, /^The node was low on resource: ephemeral-storage\. /);
        assert.deepEqual(await unusedImages(node()), images);
      });
      test("the images' is filled by images: they go, and no pod has to", () =>
        seeImagesGo(node()));
      test("the images' is filled by a writable layer: its pod goes", () =>
        seeGo(node(), "layer", podSpec(fill(190)), shortOf("100Mi")));
    },
  );
});

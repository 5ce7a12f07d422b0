// The collection on real containerd, whose folder is a small file system of its own on a loop device.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { DurationMs } from "../../src/api/text/duration.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { ImageNode } from "./node.ts";

const DISK_MIB = 320;
const NO_AGE = { imageMinimumGCAge: 0 as DurationMs };
const name = (letter: string) => `nodelet.test/${letter}:1`;
const ALL = ["a", "b", "c", "d", "e"].map(name);

let node: ImageNode;
before(async () => {
  node = await ImageNode.start({ diskMib: DISK_MIB, config: NO_AGE });
});
after(() => node[Symbol.asyncDispose]());

/** Ends the test with an empty disk: nothing of ours, nobody using it. */
async function empty(): Promise<void> {
  for (const { id } of await node.cri.runtime.listContainers({}, node.signal))
    await node.remove(id);
  await node.open({ config: NO_AGE });
  for (const image of await node.names()) await node.cri.images.removeImage(image, node.signal);
  node.events.length = 0;
  node.nodeEvents.length = 0;
  node.decisions.length = 0;
}

/** Brings images in the order a to e, 20 MiB each, which take twice that on disk; then uses a. */
async function fill(): Promise<string> {
  for (const image of ALL) await node.add(image, 20);
  const used = await node.start(name("b"), "Never");
  const once = await node.start(name("a"), "Never");
  await node.images.upkeep(false, node.signal);
  await node.remove(once);
  return used;
}

test("beyond the high threshold images go in the order of their use down to the low one", async () => {
  await fill();
  const full = await node.usage();
  assert.ok(full >= 60, `the disk is only ${full}% full`);
  await node.open({
    config: {
      ...NO_AGE,
      imageGCHighThresholdPercent: full,
      imageGCLowThresholdPercent: full - 12,
    },
  });
  const report = await node.images.report({ kind: "periodic" }, node.signal);
  const reported = report.images.filter(({ fate }) => fate === "delete").map(({ tags }) => tags[0]);
  await node.images.upkeep(true, node.signal);
  assert.deepEqual(
    reported,
    [name("c"), name("d")],
    "never used before used, older before younger",
  );
  assert.deepEqual(await node.names(), [name("a"), name("b"), name("e")]);
  assert.ok((await node.usage()) <= full - 12, `usage is ${await node.usage()}%, it was ${full}%`);
  assert.deepEqual(
    node.decisions.map(({ name: image, decision }) => [image, decision.rule]),
    [
      [name("c"), "space"],
      [name("d"), "space"],
    ],
  );
  assert.match(node.metrics.expose(), /kubelet_image_garbage_collected_total\{reason="space"\} 2/);
  assert.deepEqual(node.nodeEvents, []);
  const [running] = await node.cri.runtime.listContainers({ state: { state: 1 } }, node.signal);
  assert.ok(running, "the container of b runs on");
  await empty();
});

test("what cannot be freed is reported with the Go kubelet's text, and fails from the second time on", async () => {
  await node.add(name("a"), 20);
  await node.start(name("a"), "Never");
  const full = await node.usage();
  await node.open({
    config: { ...NO_AGE, imageGCHighThresholdPercent: full, imageGCLowThresholdPercent: 1 },
  });
  await node.images.upkeep(true, node.signal);
  await node.images.upkeep(true, node.signal);
  assert.deepEqual(
    node.nodeEvents.map(({ reason }) => reason),
    ["FreeDiskSpaceFailed", "FreeDiskSpaceFailed", "ImageGCFailed"],
  );
  assert.match(
    node.nodeEvents[2]?.message ?? "",
    /^Insufficient free disk space on the node's image filesystem \(\d+% of \d+\.\d MiB used\)\. Failed to free sufficient space by deleting unused images \(freed 0 bytes\)\. Investigate /,
  );
  await empty();
});

test("a fresh image is protected, an old one goes for its age, high=100 leaves disk pressure its way", async () => {
  await node.add(name("a"), 1);
  await node.open({ config: { imageMinimumGCAge: 3_600_000 as DurationMs } });
  assert.deepEqual((await node.images.deleteUnused(node.signal)).removed, []);
  const off = { ...NO_AGE, imageGCHighThresholdPercent: 100, imageGCLowThresholdPercent: 1 };
  await node.open({ config: off });
  await node.images.upkeep(true, node.signal);
  assert.deepEqual(await node.names(), [name("a")]);
  await node.open({ config: { ...off, imageMaximumGCAge: 1_000 as DurationMs } });
  await sleep(1_100);
  await node.images.upkeep(true, node.signal);
  assert.deepEqual(await node.names(), []);
  assert.equal(node.decisions.at(-1)?.decision.rule, "age");
  assert.match(node.metrics.expose(), /kubelet_image_garbage_collected_total\{reason="age"\} 1/);
  await node.add(name("b"), 1);
  await node.open({ config: off });
  assert.equal((await node.images.deleteUnused(node.signal)).removed.length, 1);
  await empty();
});

test("the containerd of the box keeps the sandbox image, and reports labels and file systems", async () => {
  await node.open({
    config: NO_AGE,
    policy: { keep: { labels: [[{ key: "team", operator: "in", values: ["infra"] }]] } },
  });
  const { removed, plan } = await node.images.deleteUnused(node.signal);
  assert.ok(!removed.some(({ tags }) => tags[0]?.includes("/pause")), "pause is pinned or in use");
  assert.ok(plan.kept.length > 0);
  const { images, containers, split } = await node.images.filesystems(node.signal);
  assert.equal(split, false);
  assert.equal(images, containers);
  assert.ok(images.capacityBytes > 0.8 * DISK_MIB * 2 ** 20, String(images.capacityBytes));
  assert.ok(images.capacityBytes <= DISK_MIB * 2 ** 20);
  await empty();
});

test("20 interleavings of pulls, starts and collections: no start misses its image", async () => {
  await node.startRegistry();
  const random = createSeededRandom(20);
  const pick = <T>(all: readonly T[]) => all[Math.floor(random.next() * all.length)] as T;
  const images = ["127.0.0.1:5000/ok/x:1", "127.0.0.1:5000/ok/y:1", "127.0.0.1:5000/slow/z:1"];
  let removed = 0;
  let started = 0;
  for (let round = 0; round < 20; round += 1) {
    const work: Promise<void>[] = [];
    for (let step = 0; step < 4; step += 1) {
      const image = pick(images);
      const policy = pick(["IfNotPresent", "Always"]);
      work.push(
        node.start(image, policy).then((id) => {
          started += 1;
          return random.next() < 0.7 ? node.remove(id) : undefined;
        }),
      );
      await sleep(Math.floor(random.next() * 150));
      work.push(
        node.images.deleteUnused(node.signal).then((result) => {
          removed += result.removed.length;
          assert.deepEqual(result.errors, []);
        }),
      );
      await sleep(Math.floor(random.next() * 150));
    }
    await Promise.all(work);
    for (const { id } of await node.cri.runtime.listContainers({}, node.signal))
      if (random.next() < 0.5) await node.remove(id);
  }
  assert.equal(started, 80);
  assert.ok(removed >= 5, `the collections removed only ${removed} images`);
});

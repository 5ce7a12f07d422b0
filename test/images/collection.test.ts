// The collection as a whole: what a listing shows, what a pass removes, what is reported about it.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { GcGoal } from "../../src/subsystems/images/images.ts";
import { commandOf } from "../sim/programs.ts";
import { ImageWorld, podOf, present } from "./world.ts";

const A = "nodelet.test/a:1";
const B = "nodelet.test/b:1";
const C = "nodelet.test/c:1";

const CHECKPOINT = "/var/lib/kubelet/nodelet/images.json";
const MINUTE = 60_000;

const names = (world: ImageWorld) => [...world.runtime.store.all.keys()].sort();

/** Makes a container of an image, running or ended. */
async function container(world: ImageWorld, image: string, ended = false): Promise<string> {
  const { runtime } = world.runtime;
  const metadata = { name: "web", namespace: "default", uid: `uid-${image}`, attempt: 0 };
  const labels = {
    "io.kubernetes.pod.name": "web",
    "io.kubernetes.pod.namespace": "default",
    "io.kubernetes.pod.uid": metadata.uid,
  };
  const sandbox = await world.run(runtime.runSandbox({ metadata }, "", world.signal));
  const config = {
    metadata: { name: "c", attempt: 0 },
    image: { image },
    labels,
    command: [...commandOf({ kind: "sleep" })],
  };
  const id = await world.run(runtime.createContainer(sandbox, config, {}, world.signal));
  await world.run(runtime.startContainer(id, world.signal));
  if (ended) world.runtime.exitContainer(id, 0);
  return id;
}

async function oldImages(world: ImageWorld, ...images: readonly string[]): Promise<void> {
  for (const name of images) {
    world.runtime.store.add(name, { sizeBytes: 3_000 });
    await world.run(world.images.upkeep(false, world.signal));
    await world.clock.advance(3 * MINUTE);
  }
}

test("a full disk is brought down to the low threshold, oldest first, users of any state kept", async () => {
  const world = await new ImageWorld().open();
  await oldImages(world, A, B, C, "nodelet.test/d:1");
  await container(world, B);
  await container(world, "nodelet.test/d:1", true);
  world.fill(84);
  await world.run(world.images.upkeep(true, world.signal));
  assert.equal(names(world).length, 4);
  world.fill(85);
  await world.run(world.images.upkeep(true, world.signal));
  assert.deepEqual(names(world), [B, "nodelet.test/d:1"], "6000 of 5000 bytes had to go");
  assert.deepEqual(
    world.decisions.map(({ name, decision }) => [name, decision.kind, decision.rule]),
    [
      [A, "collectImage", "space"],
      [C, "collectImage", "space"],
    ],
  );
  assert.match(world.metrics.expose(), /kubelet_image_garbage_collected_total\{reason="space"\} 2/);
  assert.deepEqual(world.nodeEvents, []);
});

test("containers whose status cannot be had keep their own images, and do not stop the collection", async () => {
  const world = await new ImageWorld().open();
  await oldImages(world, A, B, C);
  await container(world, B);
  world.runtime.refused.add("containerStatus");
  world.fill(85);
  await world.run(world.images.upkeep(true, world.signal));
  assert.deepEqual(names(world), [B]);
});

test("what frees too little says so at once; a failure is an event from the second in a row on", async () => {
  const world = await new ImageWorld().open();
  await oldImages(world, A);
  world.fill(95);
  await world.run(world.images.upkeep(true, world.signal));
  const message =
    "Insufficient free disk space on the node's image filesystem (95% of 97.7 KiB used). Failed to free sufficient space by deleting unused images (freed 3000 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.";
  assert.deepEqual(world.nodeEvents, [{ type: "Warning", reason: "FreeDiskSpaceFailed", message }]);
  await world.run(world.images.upkeep(true, world.signal));
  assert.deepEqual(
    world.nodeEvents.slice(1).map((event) => [event.reason, event.message]),
    [
      ["FreeDiskSpaceFailed", message.replace("freed 3000", "freed 0")],
      ["ImageGCFailed", message.replace("freed 3000", "freed 0")],
    ],
  );
  world.fill(50);
  await world.run(world.images.upkeep(true, world.signal));
  world.fill(95);
  await world.run(world.images.upkeep(true, world.signal));
  assert.equal(world.nodeEvents.at(-1)?.reason, "FreeDiskSpaceFailed", "success restarts");
});

test("a disk of no size, and one that cannot be measured, are distinguished", async () => {
  const world = await new ImageWorld().open();
  world.host.disk = { ...world.host.disk, capacityBytes: 0, availableBytes: 0 };
  await world.run(world.images.upkeep(true, world.signal));
  assert.deepEqual(world.nodeEvents, [
    {
      type: "Warning",
      reason: "InvalidDiskCapacity",
      message: "invalid capacity 0 on image filesystem",
    },
  ]);
  await world.host.files.removeTree("/var/lib/containerd");
  await world.run(world.images.upkeep(true, world.signal));
  assert.equal(world.nodeEvents.at(-1)?.reason, "ImageGCFailed");
  assert.match(
    world.nodeEvents.at(-1)?.message ?? "",
    /^failed to get image stats: no file system/,
  );
});

test("a deletion that fails does not end the pass, which then fails with all errors", async () => {
  const world = await new ImageWorld().open();
  await oldImages(world, A, B, C);
  world.fill(87);
  const { removeImage } = world.runtime.images;
  world.runtime.images.removeImage = (id, signal) =>
    id.endsWith("a:1") ? Promise.reject(new Error("read-only")) : removeImage(id, signal);
  await world.run(world.images.upkeep(true, world.signal));
  await world.run(world.images.upkeep(true, world.signal));
  assert.deepEqual(names(world), [A]);
  assert.equal(
    world.nodeEvents[0]?.message,
    "wanted to free 7000 bytes, but freed 0 bytes space with errors in image deletion: read-only",
  );
});

test("thresholds at 100 switch the periodic pass off, disk pressure still removes", async () => {
  const world = await new ImageWorld({ config: { imageGCHighThresholdPercent: 100 } }).open();
  await oldImages(world, A, B);
  world.runtime.store.add(C, { pinned: true });
  world.fill(100);
  await world.run(world.images.upkeep(true, world.signal));
  assert.equal(names(world).length, 3);
  await world.clock.advance(3 * MINUTE);
  const result = await world.run(world.images.deleteUnused(world.signal));
  assert.equal(result.freedBytes, 6_000);
  assert.deepEqual(names(world), [C]);
});

test("`collect` frees what is asked for and not much more, and keeps what is young", async () => {
  const world = await new ImageWorld().open();
  await oldImages(world, A, B);
  world.runtime.store.add(C, { sizeBytes: 3_000 });
  const result = await world.run(
    world.images.collect({ kind: "free", bytes: 3_001 }, world.signal),
  );
  assert.equal(result.freedBytes, 6_000);
  assert.deepEqual(names(world), [C]);
  const more = await world.run(world.images.collect({ kind: "unused" }, world.signal));
  assert.deepEqual(more.removed, [], "it came less than two minutes ago");
});

test("an old image goes for its age, also when its time began in a previous run", async () => {
  const config = { imageMaximumGCAge: (60 * MINUTE) as never };
  const world = await new ImageWorld({ config }).open();
  await oldImages(world, A);
  await world.clock.advance(50 * MINUTE);
  await world.open();
  await world.run(world.images.upkeep(true, world.signal));
  await world.clock.advance(11 * MINUTE);
  await world.run(world.images.upkeep(true, world.signal));
  assert.deepEqual(names(world), []);
  assert.equal(world.decisions[0]?.decision.rule, "age");
  assert.match(world.metrics.expose(), /kubelet_image_garbage_collected_total\{reason="age"\} 1/);
});

test("times survive a restart; a broken checkpoint is set aside", async () => {
  const world = await new ImageWorld().open();
  await oldImages(world, A);
  const used = await container(world, A);
  await world.run(world.images.upkeep(false, world.signal));
  await world.run(world.runtime.runtime.removeContainer(used, world.signal));
  const read = async () => {
    const report = await world.run(world.images.report({ kind: "periodic" }, world.signal));
    return report.images.map(({ firstDetectedMs, lastUsedMs }) => ({
      firstDetectedMs,
      lastUsedMs,
    }));
  };
  const before = await read();
  assert.ok((before[0]?.lastUsedMs ?? 0) > 0);
  await world.clock.advance(60 * MINUTE);
  await world.open();
  assert.deepEqual(await read(), before);
  await world.host.files.writeAtomic(CHECKPOINT, "{", 0o600);
  await world.open();
  assert.equal((await read())[0]?.lastUsedMs, 0);
  assert.equal(await world.host.files.readText(`${CHECKPOINT}.broken`, { maxBytes: 9 }), "{");
  assert.equal(world.warnings.length, 1);
});

const DAY = 24 * 60 * MINUTE;

test("images go in time although the clock was set back since they were detected or used", async () => {
  const wantedWithinMs = 10 * MINUTE;
  const keep = { names: [], labels: [], wantedWithinMs, unreachableRegistries: false };
  const world = await new ImageWorld({ policy: { keep } }).open();
  await oldImages(world, A);
  world.runtime.store.add(B);
  const used = await container(world, B);
  world.runtime.store.add(C);
  world.pods = [podOf(C)];
  await world.run(world.images.upkeep(false, world.signal));
  world.pods = [];
  await world.run(world.runtime.runtime.removeContainer(used, world.signal));
  world.clock.stepWall(-DAY);
  await world.run(world.images.upkeep(false, world.signal));
  await world.clock.advance(3 * MINUTE);
  await world.run(world.images.deleteUnused(world.signal));
  assert.deepEqual(names(world), [C], "a pod has named it less than ten minutes ago");
  await world.clock.advance(8 * MINUTE);
  await world.run(world.images.deleteUnused(world.signal));
  assert.deepEqual(names(world), []);
});

test("rules of the owner keep images, and the report says which", async () => {
  const world = await new ImageWorld({
    reachable: ["reachable.test"],
    policy: {
      keep: {
        names: ["nodelet.test/a"],
        labels: [[{ key: "team", operator: "in", values: ["infra"] }]],
        wantedWithinMs: 24 * 60 * MINUTE,
        unreachableRegistries: true,
      },
    },
  }).open();
  await oldImages(world, A, "nodelet.test/gone:1");
  world.runtime.store.add(B, { labels: { team: "infra" } });
  world.runtime.store.add("reachable.test/x:1");
  world.runtime.store.add("reachable.test/wanted:1");
  world.pods = [podOf("reachable.test/wanted:1")];
  await world.run(world.images.upkeep(false, world.signal));
  world.pods = [];
  await world.clock.advance(23 * 60 * MINUTE);
  const result = await world.run(world.images.collect({ kind: "unused" }, world.signal));
  assert.deepEqual(result.plan.kept.map(({ image, rule }) => [image.tags[0], rule]).sort(), [
    [A, "kept by name"],
    [B, "kept by label"],
    ["nodelet.test/gone:1", "registry unreachable"],
    ["reachable.test/wanted:1", "wanted lately"],
  ]);
  assert.deepEqual(
    result.removed.map(({ tags }) => tags[0]),
    ["reachable.test/x:1"],
  );
});

test("an image whose labels cannot be read stays, and does not stop the collection of others", async () => {
  const labels = [[{ key: "team", operator: "in" as const, values: ["infra"] }]];
  const world = await new ImageWorld({ policy: { keep: { labels } } }).open();
  await oldImages(world, A);
  await world.run(world.images.upkeep(true, world.signal));
  world.runtime.refused.add("imageLabels");
  await oldImages(world, B);
  const { plan } = await world.run(world.images.collect({ kind: "unused" }, world.signal));
  assert.deepEqual(
    plan.kept.map(({ image, rule, detail }) => [image.tags[0], rule, detail]),
    [[B, "held", "labels are unreadable"]],
  );
  assert.deepEqual(names(world), [B]);
});

test("images of pods that are known stay, although no container of them is there yet", async () => {
  const world = await new ImageWorld().open();
  await oldImages(world, A, B);
  world.pods = [podOf(A)];
  const { removed } = await world.run(world.images.deleteUnused(world.signal));
  assert.deepEqual(
    removed.map(({ tags }) => tags[0]),
    [B],
  );
});

const goals = fc.oneof(
  fc.constant<GcGoal>({ kind: "periodic" }),
  fc.constant<GcGoal>({ kind: "unused" }),
  fc.record({ kind: fc.constant("free" as const), bytes: fc.integer({ min: 1, max: 5_000 }) }),
  fc.record({ kind: fc.constant("usage" as const), percent: fc.integer({ min: 0, max: 100 }) }),
);

test("the dry run is the deletion that follows, for random nodes and goals", async () => {
  const node = fc.array(
    fc.record({
      sizeBytes: fc.integer({ min: 0, max: 2_000 }),
      pinned: fc.boolean(),
      used: fc.constantFrom("never", "running", "ended"),
      ageMs: fc.integer({ min: 0, max: 4 * MINUTE }),
    }),
    { maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(node, goals, fc.integer({ min: 0, max: 100 }), async (nodes, goal, full) => {
      const world = await new ImageWorld().open();
      for (const [at, { sizeBytes, pinned, used, ageMs }] of nodes.entries()) {
        const name = `nodelet.test/i${at}:1`;
        world.runtime.store.add(name, { sizeBytes, pinned });
        await world.run(world.images.upkeep(false, world.signal));
        if (used !== "never") await container(world, name, used === "ended");
        await world.clock.advance(ageMs);
      }
      world.fill(full);
      const before = names(world);
      const report = await world.run(world.images.report(goal, world.signal));
      const reported = report.images
        .filter(({ fate }) => fate === "delete")
        .map(({ tags }) => tags[0]);
      await world.run(world.images.collect(goal, world.signal).catch(() => {}));
      const left = new Set(names(world));
      assert.deepEqual(
        before.filter((name) => !left.has(name)),
        reported.sort(),
      );
      assert.deepEqual(world.decisions.map(({ name }) => name).sort(), reported.sort());
    }),
    { numRuns: 60 },
  );
});

test("an image is there for a container from the answer until the container is there", async () => {
  const world = await new ImageWorld().open();
  await oldImages(world, A);
  const answer = await world.ensure(A);
  assert.equal(answer.kind, "present");
  const held = await world.run(world.images.report({ kind: "unused" }, world.signal));
  assert.deepEqual(
    held.images.map(({ rule, detail }) => [rule, detail]),
    [["held", "default/web (c)"]],
  );
  assert.deepEqual((await world.run(world.images.deleteUnused(world.signal))).removed, []);
  present(answer);
  assert.equal((await world.run(world.images.deleteUnused(world.signal))).removed.length, 1);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { EvictionNode, FIVE } from "../../../test/support/eviction-node.ts";
import type { TestPod } from "./pods.vectors.ts";

test("memory runs out: one pod goes with its reason, its neighbours stay, the condition ends later", async () => {
  const node = new EvictionNode();
  node.pods = [...FIVE];
  await node.clock.advance(60_000);
  assert.deepEqual([node.pressure.get(), node.events, node.measured], [[], [], []]);
  node.memoryUsedMi = 120;
  await node.clock.advance(10_000);
  assert.deepEqual(node.pressure.get(), ["MemoryPressure"]);
  assert.deepEqual(node.events, [
    "node EvictionThresholdMet: Attempting to reclaim memory",
    "hog Evicted: The node was low on resource: memory. Threshold quantity: 100Mi, available: 44Mi. Container c was using 400Mi, request is 0, has larger consumption of memory. ",
  ]);
  const [order] = node.orders;
  assert.deepEqual([order?.uid, order?.graceSeconds, order?.disrupted], ["uid-hog", 1, true]);
  const [decision] = node.decisions;
  assert.equal(decision?.kind, "evictPod");
  await node.clock.advance(290_000);
  assert.deepEqual(node.names, ["small", "within", "important", "static"]);
  assert.equal(node.orders.length, 1, "no second pod goes");
  assert.deepEqual(node.pressure.get(), ["MemoryPressure"]);
  await node.clock.advance(30_000);
  assert.deepEqual(node.pressure.get(), []);
  const page = node.metrics.expose();
  assert.match(page, /kubelet_evictions\{eviction_signal="memory.available"\} 1/);
  assert.match(
    page,
    /kubelet_eviction_stats_age_seconds_count\{eviction_signal="memory.available"\} 1/,
  );
  await node.leave();
});

test("a pod that ends while pods are measured is not evicted, and nobody in its place", async () => {
  const node = new EvictionNode();
  node.pods = [...FIVE];
  node.memoryUsedMi = 120;
  node.whileMeasuring = () => {
    node.pods = FIVE.filter(({ name }) => name !== "hog");
  };
  await node.clock.advance(30_000);
  assert.equal(node.measured.length, 1);
  assert.deepEqual(node.orders, []);
  await node.leave();
});

test("a full disk: what nobody uses goes first, and when that is enough no pod goes", async () => {
  const node = new EvictionNode();
  node.pods = [{ name: "web", volumeMi: 100 }];
  Object.assign(node, { diskUsedMi: 500, imagesMi: 400 });
  await node.clock.advance(10_000);
  assert.deepEqual(node.reclaimed, ["containers", "images"]);
  assert.deepEqual(node.orders, []);
  assert.deepEqual(node.pressure.get(), ["DiskPressure"]);
  const [decision] = node.decisions;
  assert.deepEqual([decision?.kind, decision?.rule], ["reclaimNode", "enough"]);
  await node.leave();
});

test("a full disk that images do not free: the pod that takes most goes", async () => {
  const node = new EvictionNode();
  node.pods = [
    { name: "web", volumeMi: 100 },
    { name: "writer", volumeMi: 400 },
  ];
  Object.assign(node, { diskUsedMi: 500, imagesMi: 10 });
  await node.clock.advance(10_000);
  assert.deepEqual(node.reclaimed, ["containers", "images"]);
  assert.deepEqual(
    node.orders.map(({ uid }) => uid),
    ["uid-writer"],
  );
  assert.deepEqual(node.measured, ["pods and disks", "disks again"]);
  await node.leave();
});

test("a full disk: who has filled it is found, though the runtime measures layers late", async () => {
  const node = new EvictionNode();
  node.pods = [
    { name: "neighbour", rootfsMi: 30 },
    { name: "writer", rootfsMi: 500 },
  ];
  node.unseen = "writer";
  node.diskUsedMi = 450;
  await node.clock.advance(10_000);
  assert.deepEqual(
    node.orders.map(({ uid }) => uid),
    ["uid-writer"],
  );
  assert.match(node.orders[0]?.message ?? "", /Container c was using 500Mi/);
  await node.leave();
});

test("a layer beyond its limit is found as soon as the runtime has measured it", async () => {
  const node = new EvictionNode();
  const resources = { limits: { "ephemeral-storage": "20Mi" } };
  const limited = { name: "limited", spec: { containers: [{ name: "c", resources }] } };
  node.pods = [limited];
  const collect = () => {
    node.layers = { atMs: node.clock.wall(), pods: node.pods };
    node.clock.alarm(10_000, collect);
  };
  // Right after the rounds, which begin every ten seconds.
  node.clock.alarm(200, collect);
  await node.clock.advance(60_300);
  node.pods = [{ ...limited, rootfsMi: 50 }];
  await node.clock.advance(12_000);
  assert.deepEqual(
    node.orders.map(({ uid }) => uid),
    ["uid-limited"],
  );
  await node.leave();
});

test("a clock that is set back does not keep a pod from going", async () => {
  const node = new EvictionNode();
  node.pods = [...FIVE];
  await node.clock.advance(60_000);
  node.clock.stepWall(-3_600_000);
  node.memoryUsedMi = 120;
  await node.clock.advance(10_000);
  assert.deepEqual(
    node.orders.map(({ uid }) => uid),
    ["uid-hog"],
  );
  await node.leave();
});

test("pressure that nothing relieves is recorded in the journal once, and again when it comes back", async () => {
  const node = new EvictionNode();
  Object.assign(node, { diskUsedMi: 1_000, imagesMi: 0 });
  await node.clock.advance(120_000);
  assert.equal(node.decisions.length, 1);
  node.diskUsedMi = 100;
  await node.clock.advance(20_000);
  node.diskUsedMi = 1_000;
  await node.clock.advance(20_000);
  assert.deepEqual(
    node.decisions.map(({ kind, rule }) => [kind, rule]),
    [
      ["reclaimNode", "not enough"],
      ["reclaimNode", "not enough"],
    ],
  );
  await node.leave();
});

test("no second pod goes before the first is cleaned up; after 30 s the node is checked again, and it is waited for", async () => {
  const node = new EvictionNode();
  node.stuck = true;
  node.pods = [...FIVE];
  node.memoryUsedMi = 120;
  await node.clock.advance(29_000);
  assert.equal(node.orders.length, 1);
  await node.clock.advance(60_000);
  assert.ok(node.orders.length > 1);
  assert.deepEqual([...new Set(node.orders.map(({ uid }) => uid))], ["uid-hog"]);
  assert.equal(node.events.filter((text) => text.includes("Evicted")).length, 1, "recorded once");
  const given = node.pods.find(({ name }) => name === "hog");
  node.pods = node.pods.map((pod) => (pod === given ? { ...pod, ending: "overdue" } : pod));
  await node.clock.advance(40_000);
  assert.deepEqual(
    [...new Set(node.orders.map(({ uid }) => uid))],
    ["uid-hog", "uid-small"],
    "one that does not end is given up",
  );
  await node.leave();
});

test("limits of pods: only pods that have some are measured, several may go in a round", async () => {
  const node = new EvictionNode();
  const limited = (name: string, volumeMi: number): TestPod => ({
    name,
    volumeMi,
    spec: { volumes: [{ name: "v", emptyDir: { sizeLimit: "5Mi" } }] },
  });
  node.pods = [limited("a", 40), limited("b", 4), limited("c", 6), { name: "free", volumeMi: 90 }];
  await node.clock.advance(1_000);
  assert.deepEqual(
    node.orders.map(({ uid, graceSeconds, disrupted }) => [uid, graceSeconds, disrupted]),
    [
      ["uid-a", 1, false],
      ["uid-c", 1, false],
    ],
  );
  assert.deepEqual([...new Set(node.measured)], ["storage"]);
  assert.deepEqual(node.events, [
    'a Evicted: Usage of EmptyDir volume "v" exceeds the limit "5Mi". ',
    'c Evicted: Usage of EmptyDir volume "v" exceeds the limit "5Mi". ',
  ]);
  assert.match(node.metrics.expose(), /kubelet_evictions\{eviction_signal="emptydirfs.limit"\} 2/);
  await node.leave();
});

const WRITER: TestPod = {
  name: "writer",
  volumeMi: 1,
  spec: { volumes: [{ name: "v", emptyDir: { sizeLimit: "5Mi" } }] },
};

test("pods with limits are measured once a minute while nothing changes on the disk, and in the next round when it does", async () => {
  const node = new EvictionNode();
  Object.assign(node, { pods: [WRITER], diskUsedMi: 100 });
  await node.clock.advance(15_000);
  node.measured.length = 0;
  await node.clock.advance(120_000);
  assert.deepEqual(node.measured, ["storage", "storage"]);
  node.pods = [{ ...WRITER, volumeMi: 40 }];
  await node.clock.advance(10_000);
  assert.deepEqual(node.names, []);
  await node.leave();
});

test("a pod beyond its limit is found within a minute when as much was freed at the same time", async () => {
  const node = new EvictionNode();
  Object.assign(node, { pods: [WRITER], diskUsedMi: 100 });
  await node.clock.advance(15_000);
  Object.assign(node, { pods: [{ ...WRITER, volumeMi: 40 }], diskUsedMi: 61 });
  await node.clock.advance(60_000);
  assert.deepEqual(node.names, []);
  await node.leave();
});

test("pods with limits are measured in every round while it is not known what is available on the disk", async () => {
  const node = new EvictionNode();
  Object.assign(node, { pods: [WRITER], unknownDisk: true });
  await node.clock.advance(55_000);
  assert.equal(node.measured.length, 6);
  await node.leave();
});

test("what cannot be measured does not end the watch", async () => {
  const node = new EvictionNode();
  node.pods = [...FIVE];
  node.broken = true;
  await node.clock.advance(60_000);
  Object.assign(node, { broken: false, memoryUsedMi: 120 });
  await node.clock.advance(10_000);
  assert.equal(node.orders.length, 1);
  await node.leave();
});

test("without thresholds and limits nothing is measured", async () => {
  const node = new EvictionNode({ evictionHard: {}, localStorageCapacityIsolation: false });
  node.pods = [...FIVE];
  node.memoryUsedMi = 900;
  await node.clock.advance(60_000);
  assert.deepEqual([node.orders, node.measured], [[], []]);
  await node.leave();
});

test("Eviction: reports when a threshold will be met at the rate of the last minute", async () => {
  const node = new EvictionNode({ evictionHard: { "memory.available": "100Mi" } });
  for (let round = 0; round < 10; round += 1) {
    node.memoryUsedMi = 10 * round;
    await node.clock.advance(10_000);
  }
  const [memory] = await node.signals();
  assert.equal(memory?.signal, "memory.available");
  // About one MiB a second, and 834 MiB more than the threshold are left.
  const seconds = (memory?.metInMs ?? 0) / 1_000;
  assert.ok(seconds > 600 && seconds < 1_000, `${seconds}`);
  await node.clock.advance(70_000);
  const [calm] = await node.signals();
  assert.equal(calm?.metInMs, undefined);
  await node.leave();
});

test("a round begins as soon as the kernel reports that memory is short, at most once a second", async () => {
  const node = new EvictionNode();
  node.pods = [...FIVE];
  await node.clock.advance(15_000);
  const before = node.rounds;
  node.memoryUsedMi = 500;
  node.requestRound();
  await node.clock.advance(10);
  assert.equal(node.rounds, before + 1);
  assert.equal(node.orders[0]?.uid, "uid-hog");
  await node.clock.advance(30_000);
  const calm = node.rounds;
  for (let i = 0; i < 100; i += 1) {
    node.requestRound();
    await node.clock.advance(30);
  }
  assert.ok([2, 3, 4].includes(node.rounds - calm), `${node.rounds - calm} rounds in 3 s`);
  await node.leave();
});

test("no pod goes before the runtime has listed all of them; what nobody uses does", async () => {
  const node = new EvictionNode();
  node.pods = [{ name: "writer", rootfsMi: 500 }];
  node.hasUnobservedPods = true;
  node.diskUsedMi = 450;
  await node.clock.advance(25_000);
  assert.equal(node.orders.length, 0);
  assert.ok(node.reclaimed.includes("images"));
  node.hasUnobservedPods = false;
  await node.clock.advance(10_000);
  assert.equal(node.orders[0]?.uid, "uid-writer");
  await node.leave();
});

test("no second pod goes for one that was evicted before the agent was restarted", async () => {
  const node = new EvictionNode();
  node.pods = [...FIVE];
  node.leaving = ["hog"];
  node.memoryUsedMi = 500;
  await node.clock.advance(15_000);
  assert.deepEqual(node.orders, []);
  node.pods = FIVE.filter(({ name }) => name !== "hog");
  node.memoryUsedMi = 0;
  await node.clock.advance(60_000);
  assert.deepEqual(node.orders, []);
  await node.leave();
});

test("one that was evicted before and does not end is waited for 30 s, once", async () => {
  const node = new EvictionNode();
  node.pods = [...FIVE];
  node.leaving = ["hog"];
  node.memoryUsedMi = 500;
  await node.clock.advance(29_000);
  assert.deepEqual(node.orders, []);
  await node.clock.advance(12_000);
  assert.ok(node.orders.length > 0);
  await node.leave();
});

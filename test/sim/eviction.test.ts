// A node that runs short of memory or disk; thousands of histories are in eviction.soak.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionOf } from "./cluster-world.ts";
import { NO_SHORTAGE, playEviction, TRANSITION_MS } from "./eviction-scenario.ts";
import { MI, ShortNode } from "./eviction-world.ts";
import { FAKE_FACTS } from "./fake-host.ts";
import { playSeeds } from "./play-seeds.ts";
import { MANIFESTS } from "./world.ts";

const SEEDS = 60;

/** Seeds that once failed, and what each of them taught. */
const LEARNED: readonly (readonly [seed: number, lesson: string])[] = [
  [16, "after a restart nobody goes before the runtime has reported all pods"],
  [110, "a pod that the runtime has not reported is not evicted as one without figures"],
];

for (const [seed, lesson] of LEARNED)
  test(`a node that runs short, seed ${seed}: ${lesson}`, () => playEviction(seed));

test(`a node that runs short: ${SEEDS} seeds`, async () => {
  const module = new URL("./eviction-scenario.ts", import.meta.url);
  const play = { module, name: "playEviction", first: 1, count: SEEDS };
  const played = await playSeeds({ ...play, tally: { ...NO_SHORTAGE } });
  assert.ok(
    Math.min(...Object.values(played)) > 0,
    `every kind was there: ${JSON.stringify(played)}`,
  );
});

test("while it lasts the node says so, and refuses pods that promise nothing", async () => {
  const node = new ShortNode(3, {
    within: { memoryMi: 500, requests: { memory: "1Gi" } },
    other: { memoryMi: 200, requests: { memory: "300Mi" } },
    small: { memoryMi: 10 },
  });
  const { world } = node;
  await world.host.files.makeDirectory(MANIFESTS, 0o755);
  world.startAgent();
  await node.create("within");
  await world.advance(30_000);
  node.machine.memoryMi = FAKE_FACTS.memoryBytes / MI - 550;
  await world.advance(20_000);
  assert.equal(conditionOf(node.node(), "MemoryPressure"), "True");
  await node.create("small");
  await node.create("other");
  await world.advance(20_000);
  const { status } = node.pod("small") ?? {};
  assert.deepEqual(
    [status?.phase, status?.reason, status?.message],
    ["Failed", "Evicted", "Pod was rejected: The node had condition: [MemoryPressure]. "],
  );
  assert.notEqual(node.pod("other")?.status?.reason, "Evicted");
  await world.advance(TRANSITION_MS + 60_000);
  assert.equal(conditionOf(node.node(), "MemoryPressure"), "False");
});

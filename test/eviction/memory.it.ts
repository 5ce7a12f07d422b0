// A node that runs short of memory, on real containerd and a real kernel, in twelve constellations of class of service,
// request, priority and usage. Rounds come every ten seconds, which is mostly waiting: four nodes do it side by side.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { CONSTELLATIONS, type Constellation } from "./constellations.ts";
import type { EvictionNode } from "./node.ts";
import { assertSense, isDisrupted, startMemoryNode, suffer } from "./suffer.ts";

const LANES = 4;
/** The next round is at most ten seconds away; the rest is what a busy machine takes. */
const CONDITION_WITHIN_MS = 20_000 * TIMEOUT_FACTOR;
const MESSAGE =
  /^The node was low on resource: memory\. Threshold quantity: 100Mi, available: \d+(Ki|Mi)?\. /;

const lanes = Array.from({ length: LANES }, (_, lane) =>
  CONSTELLATIONS.filter((_row, i) => i % LANES === lane),
);

describe("twelve constellations of pods on a node short of memory", { concurrency: LANES }, () => {
  for (const [lane, rows] of lanes.entries())
    describe(`node ${lane + 1}`, { concurrency: 1 }, () => lifeOfNode(rows));
});

function lifeOfNode(rows: readonly Constellation[]): void {
  let node: EvictionNode;
  before(async () => {
    node = await startMemoryNode();
  });
  after(() => node?.[Symbol.asyncDispose]());

  for (const row of rows)
    test(row.name, async () => {
      assertSense(row);
      const { figures, victim } = await suffer(node, row);
      assert.match(victim.status?.message ?? "", MESSAGE);
      assert.ok(isDisrupted(victim), "DisruptionTarget");
      assert.ok(figures.conditionMs < CONDITION_WITHIN_MS, JSON.stringify(figures));
      const shown = Object.entries(figures).map(([what, ms]) => `${what} ${Math.round(ms)}`);
      console.log(`# ${row.victim} goes (${row.name}): ${shown.join(", ")}`);
    });

  test("the events of the node and of its pods report it", async () => {
    const messages = (await node.events()).map(
      ({ type, reason, message, involvedObject }) =>
        `${type} ${reason} ${involvedObject.kind} ${message}`,
    );
    const text = messages.join("\n");
    assert.match(text, /^Warning EvictionThresholdMet Node Attempting to reclaim memory$/m);
    assert.match(text, /^Warning Evicted Pod The node was low on resource: memory/m);
    assert.match(text, /NodeHasInsufficientMemory/);
    assert.match(text, /NodeHasSufficientMemory/);
  });
}

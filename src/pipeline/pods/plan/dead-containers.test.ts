import assert from "node:assert/strict";
import { test } from "node:test";
import { aContext, anAttempt, anEnd, aRecord, wall } from "../../../../test/support/pods.ts";
import { keptDead, ONE_OF_EACH } from "./dead-containers.ts";
import { planPod } from "./plan.ts";

const ends = (count: number) =>
  Array.from({ length: count }, (_, i) => anEnd("a", 1, { restartCount: count - i }));

const LIMITS: readonly (readonly [perContainer: number, onNode: number, kept: number])[] = [
  [1, -1, 1],
  [0, -1, 1],
  [3, -1, 3],
  [-1, -1, Number.POSITIVE_INFINITY],
  [3, 100, 3],
  [3, 5, 2],
  [-1, 5, 2],
  [3, 0, 1],
];

for (const [perContainer, onNode, kept] of LIMITS)
  test(`keptDead: ${perContainer} of a container and ${onNode} on the node come to ${kept}`, () => {
    const records = [aRecord({ containers: ends(4) }), aRecord({ containers: ends(4) })];
    const limits = { ...ONE_OF_EACH, perContainer, onNode };
    assert.equal(keptDead(limits, records).perContainer, kept);
  });

test("planPod: of ended attempts the newest stay, and those that are too young", () => {
  const record = aRecord({ containers: [anAttempt("a", { restartCount: 5 }), ...ends(4)] });
  const removed = (perContainer: number, minAgeMs: number, wallNow = wall(1_000_000)) => {
    const plan = planPod(record, aContext({ wallNow, keptDead: { perContainer, minAgeMs } }));
    return plan.actions.map((action) => ("id" in action ? action.id : action.kind));
  };
  assert.deepEqual(removed(1, 0), ["a-3", "a-2", "a-1"]);
  assert.deepEqual(removed(3, 0), ["a-1"]);
  assert.deepEqual(removed(Number.POSITIVE_INFINITY, 0), []);
  // They were made one, two and three seconds after zero.
  assert.deepEqual(removed(1, 10_000, wall(12_500)), ["a-2", "a-1"]);
});

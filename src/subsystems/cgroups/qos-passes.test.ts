import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { IdentifiedPod } from "../../api/pod-identity.ts";
import { QosPasses } from "./qos-passes.ts";
import type { CgroupPlan, CgroupWrite } from "./writes.ts";

/** Passes whose plan has one write for each pod. */
function passesWith(write: Partial<CgroupWrite> = {}) {
  const clock = new SimClock();
  const applied: number[] = [];
  const state = { failing: false };
  const passes = new QosPasses({
    clock,
    plan: (pods): readonly CgroupPlan[] => [
      {
        path: "/kubepods/burstable",
        kind: "tier",
        create: false,
        writes: pods.map((_, i) => ({ file: "cpu.shares", value: String(i), ...write })),
      },
    ],
    apply: async ([plan]) => {
      applied.push(plan?.writes.length ?? 0);
      if (state.failing) throw new Error("refused");
    },
  });
  const update = (pods: number) =>
    passes.update(Array.from({ length: pods }, () => ({}) as IdentifiedPod));
  return { clock, applied, state, update };
}

test("update skips a plan that was carried out a moment ago, and none that differs", async () => {
  const { clock, applied, update } = passesWith();
  for (const pods of [1, 1, 2, 2, 1]) await update(pods);
  assert.deepEqual(applied, [1, 2, 1]);
  await clock.advance(4_900);
  await update(1);
  assert.deepEqual(applied, [1, 2, 1]);
  await clock.advance(200);
  await update(1);
  assert.deepEqual(applied, [1, 2, 1, 1]);
});

test("update repeats what failed", async () => {
  const { applied, state, update } = passesWith();
  await update(1);
  state.failing = true;
  await assert.rejects(update(2), /refused/);
  state.failing = false;
  await update(2);
  await update(2);
  assert.deepEqual(applied, [1, 2, 2]);
});

test("update always compares limits that follow what is in use", async () => {
  const usage = { file: "memory.usage_in_bytes", raise: "always" } as const;
  const { applied, update } = passesWith({ usage });
  for (const pods of [2, 2]) await update(pods);
  assert.deepEqual(applied, [2, 2]);
  const lifted = passesWith({ usage, value: "-1" });
  for (const pods of [2, 2]) await lifted.update(pods);
  assert.deepEqual(lifted.applied, [2]);
});

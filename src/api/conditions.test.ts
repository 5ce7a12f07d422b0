import assert from "node:assert/strict";
import { test } from "node:test";
import { findCondition, isConditionTrue, removeCondition, setCondition } from "./conditions.ts";
import type { PodCondition } from "./generated/types.ts";

const OLD = "2026-01-01T00:00:00Z";
const NOW = "2026-01-02T00:00:00Z";
const ready: PodCondition = { type: "Ready", status: "True", lastTransitionTime: OLD };
const foreign: PodCondition = { type: "example.com/x", status: "False", lastTransitionTime: OLD };

test("setCondition: adds, replaces, keeps the transition time of an unchanged status", () => {
  assert.deepEqual(setCondition(undefined, { type: "Ready", status: "True" }, NOW), [
    { type: "Ready", status: "True", lastTransitionTime: NOW },
  ]);
  assert.deepEqual(
    setCondition([foreign, ready], { type: "Ready", status: "False", reason: "X" }, NOW),
    [foreign, { type: "Ready", status: "False", reason: "X", lastTransitionTime: NOW }],
  );
  assert.deepEqual(setCondition([ready], { type: "Ready", status: "True", message: "m" }, NOW), [
    { type: "Ready", status: "True", message: "m", lastTransitionTime: OLD },
  ]);
});

test("setCondition: the same again is the same array", () => {
  const conditions = [foreign, ready];
  assert.equal(setCondition(conditions, { type: "Ready", status: "True" }, NOW), conditions);
  const generation = { type: "Ready", status: "True", observedGeneration: 2 };
  assert.notEqual(setCondition<PodCondition>(conditions, generation, NOW), conditions);
});

test("findCondition, isConditionTrue, removeCondition", () => {
  assert.equal(findCondition([foreign, ready], "Ready"), ready);
  assert.equal(findCondition(undefined, "Ready"), undefined);
  assert.equal(isConditionTrue([ready], "Ready"), true);
  assert.equal(isConditionTrue([foreign], "example.com/x"), false);
  const conditions = [foreign, ready];
  assert.deepEqual(removeCondition(conditions, "Ready"), [foreign]);
  assert.equal(removeCondition(conditions, "None"), conditions);
});

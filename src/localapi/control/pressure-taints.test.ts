import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeCondition, Taint } from "../../api/generated/types.ts";
import { taintsUnderPressure } from "./pressure-taints.ts";

const MEMORY: Taint = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" };
const DISK: Taint = { key: "node.kubernetes.io/disk-pressure", effect: "NoSchedule" };
const OTHER: Taint = { key: "dedicated", value: "db", effect: "NoSchedule" };
const FOREIGN: Taint = { key: MEMORY.key, effect: "NoExecute" };

const under = (...types: readonly string[]): readonly NodeCondition[] =>
  ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map((type) => ({
    type,
    status: types.includes(type) ? "True" : "False",
  }));

for (const [what, taints, conditions, expected] of [
  ["no pressure", [OTHER], under("Ready"), undefined],
  ["pressure begins", [OTHER], under("Ready", "MemoryPressure"), [OTHER, MEMORY]],
  ["pressure lasts", [MEMORY, OTHER], under("MemoryPressure"), undefined],
  ["another one begins", [MEMORY], under("MemoryPressure", "DiskPressure"), [MEMORY, DISK]],
  ["pressure is over", [MEMORY, OTHER], under("Ready"), [OTHER]],
  ["taints of others with the key stay", [FOREIGN], under("Ready"), undefined],
] as const)
  test(`taintsUnderPressure: ${what}`, () =>
    assert.deepEqual(taintsUnderPressure(taints, conditions), expected));

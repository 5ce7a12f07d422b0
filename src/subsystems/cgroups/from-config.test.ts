import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_CONFIG } from "../../config/fields/defaults.ts";
import { cgroupOptionsOf } from "./from-config.ts";

test("cgroupOptionsOf: qosReserved counts as written, with the gate only", () => {
  const percentOf = (memory: string, gate: boolean) =>
    cgroupOptionsOf(
      { ...DEFAULT_CONFIG, qosReserved: { memory }, featureGates: { QOSReserved: gate } },
      { pageBytes: 4096 },
    ).qosReservedMemoryPercent;
  assert.equal(percentOf("50%", false), undefined);
  for (const [text, percent] of [
    ["50%", 50],
    ["+50%", 50],
    ["050%%", 50],
    ["0%", 0],
  ] as const)
    assert.equal(percentOf(text, true), percent, text);
  const { qosReservedMemoryPercent } = cgroupOptionsOf(
    { ...DEFAULT_CONFIG, featureGates: { QOSReserved: true } },
    { pageBytes: 4096 },
  );
  assert.equal(qosReservedMemoryPercent, undefined, "nothing is reserved by default");
});

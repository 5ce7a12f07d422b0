// Volumes of a CSI driver in seeded histories: nothing mounted twice, nothing left, nothing detached while it is staged.
import assert from "node:assert/strict";
import { test } from "node:test";
import { playCsiHistory } from "./csi-scenario.ts";

const SEEDS = Number(process.env["SIM_SEEDS"] ?? 40);

test(`simulation of CSI volumes: ${SEEDS} seeds`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const violations = await playCsiHistory(seed);
    assert.deepEqual(violations.slice(0, 5), [], `seed ${seed}`);
  }
});

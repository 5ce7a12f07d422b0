// Five thousand histories of changes in place. RESIZE_SEEDS says how many, RESIZE_FIRST where to begin.
import assert from "node:assert/strict";
import { test } from "node:test";
import { playResizes, type ResizeTally } from "./resize-scenario.ts";

const count = Number(process.env["RESIZE_SEEDS"] ?? "5000");
const first = Number(process.env["RESIZE_FIRST"] ?? "1");

test(`simulation of resizes: ${count} seeds from ${first}`, async (t) => {
  const tally: ResizeTally = { given: 0, deferred: 0, infeasible: 0 };
  for (let seed = first; seed < first + count; seed += 1) await playResizes(seed, tally);
  t.diagnostic(`pods at the end: ${JSON.stringify(tally)}`);
  assert.ok(Math.min(tally.given, tally.deferred, tally.infeasible) > 0, "every end was seen");
});

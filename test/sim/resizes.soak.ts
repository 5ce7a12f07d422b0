// Five thousand histories of changes in place. RESIZE_SEEDS says how many, RESIZE_FIRST where to begin.
import assert from "node:assert/strict";
import { test } from "node:test";
import { playSeeds } from "./play-seeds.ts";

const count = Number(process.env["RESIZE_SEEDS"] ?? "5000");
const first = Number(process.env["RESIZE_FIRST"] ?? "1");

test(`simulation of resizes: ${count} seeds from ${first}`, async (t) => {
  const module = new URL("./resize-scenario.ts", import.meta.url);
  const tally = { given: 0, deferred: 0, infeasible: 0 };
  const ends = await playSeeds({ module, name: "playResizes", first, count, tally });
  t.diagnostic(`pods at the end: ${JSON.stringify(ends)}`);
  assert.ok(Math.min(...Object.values(ends)) > 0, "every end was seen");
});

// Two thousand histories of a node that runs short. EVICTION_SEEDS says how many, EVICTION_FIRST where to begin.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_SHORTAGE } from "./eviction-scenario.ts";
import { playSeeds } from "./play-seeds.ts";

const count = Number(process.env["EVICTION_SEEDS"] ?? "2000");
const first = Number(process.env["EVICTION_FIRST"] ?? "1");

test(`simulation of a node that runs short: ${count} seeds from ${first}`, async (t) => {
  const module = new URL("./eviction-scenario.ts", import.meta.url);
  const tally = { ...NO_SHORTAGE };
  const played = await playSeeds({ module, name: "playEviction", first, count, tally });
  t.diagnostic(`shortages: ${JSON.stringify(played)}`);
  assert.ok(Math.min(...Object.values(played)) > 0, "every kind was there");
});

// A thousand histories of DRA drivers, claims and pods. CLAIM_SEEDS says how many, CLAIM_FIRST where to begin.
import assert from "node:assert/strict";
import { test } from "node:test";
import { playSeeds } from "./play-seeds.ts";

const count = Number(process.env["CLAIM_SEEDS"] ?? "1000");
const first = Number(process.env["CLAIM_FIRST"] ?? "1");

test(`simulation of resource claims: ${count} seeds from ${first}`, async (t) => {
  const module = new URL("./claim-scenario.ts", import.meta.url);
  const tally = { running: 0, done: 0, used: 0, unprepared: 0 };
  const ends = await playSeeds({ module, name: "playClaims", first, count, tally });
  t.diagnostic(`pods at the end, and what became of claims: ${JSON.stringify(ends)}`);
  const { used = 0, unprepared = 0 } = ends;
  assert.ok(used > count && unprepared > count, "claims were used and unprepared");
});

// Two thousand histories with broken objects. ISOLATION_SEEDS says how many, ISOLATION_FIRST where to begin.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_ISOLATION } from "./isolation-scenario.ts";
import { playSeeds } from "./play-seeds.ts";

const count = Number(process.env["ISOLATION_SEEDS"] ?? "2000");
const first = Number(process.env["ISOLATION_FIRST"] ?? "1");

test(`simulation of broken objects: ${count} seeds from ${first}`, async (t) => {
  const module = new URL("./isolation-scenario.ts", import.meta.url);
  const tally = { ...NO_ISOLATION };
  const ends = await playSeeds({ module, name: "playIsolation", first, count, tally });
  t.diagnostic(`pods and objects: ${JSON.stringify(ends)}`);
  assert.ok(Math.min(...Object.values(ends)) > 0, "every kind was there");
});

// The whole agent with DRA drivers in seeded histories; a thousand of them are in claims.soak.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { playClaims } from "./claim-scenario.ts";
import { playSeeds } from "./play-seeds.ts";

const SEEDS = Number(process.env["SIM_SEEDS"] ?? 6);

test(`simulation of resource claims: ${SEEDS} seeds`, async () => {
  const module = new URL("./claim-scenario.ts", import.meta.url);
  const tally = { running: 0, done: 0, used: 0, unprepared: 0 };
  const ends = await playSeeds({ module, name: "playClaims", first: 1, count: SEEDS, tally });
  const { used = 0, unprepared = 0 } = ends;
  assert.ok(used > 0 && unprepared > 0, "claims were used and unprepared");
});

// The only one of the first thousand in which claims of an orphan are to be taken back that could not be observed at first.
test("simulation of resource claims: an orphan is found although its first observation failed", () =>
  playClaims(557));

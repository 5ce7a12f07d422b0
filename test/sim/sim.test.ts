// The whole agent in seeded histories. SIM_SEEDS says how many, SIM_FIRST where to begin.
import { test } from "node:test";
import { playSeeds } from "./play-seeds.ts";
import { playScenario } from "./scenario.ts";
import { LEARNED } from "./seeds.ts";

const count = Number(process.env["SIM_SEEDS"] ?? "100");
const first = Number(process.env["SIM_FIRST"] ?? "1");

for (const [seed, lesson] of LEARNED) {
  test(`simulation: seed ${seed}: ${lesson}`, () => playScenario(seed));
}

test(`simulation: ${count} seeds from ${first}`, async () => {
  const module = new URL("./scenario.ts", import.meta.url);
  await playSeeds({ module, name: "playScenario", first, count });
});

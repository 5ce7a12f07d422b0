// The whole agent with memory of two NUMA nodes in seeded histories.
import { test } from "node:test";
import { playSeeds } from "./play-seeds.ts";

const SEEDS = 60;

test(`simulation of memory: ${SEEDS} seeds`, async () => {
  const module = new URL("./memory-scenario.ts", import.meta.url);
  const tally = { running: 0, refused: 0, done: 0 };
  await playSeeds({ module, name: "playMemory", first: 1, count: SEEDS, tally });
});

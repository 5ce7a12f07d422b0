// One pod that cannot be observed, or hangs, is its own stepFailure; thousands of histories are in isolation.soak.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_ISOLATION } from "./isolation-scenario.ts";
import { playSeeds } from "./play-seeds.ts";

const SEEDS = 30;
const TRAFFIC_SEEDS = 10;

test(`simulation of broken objects: ${SEEDS} seeds`, async () => {
  const module = new URL("./isolation-scenario.ts", import.meta.url);
  const play = { module, name: "playIsolation", first: 1, count: SEEDS };
  const ends = await playSeeds({ ...play, tally: { ...NO_ISOLATION } });
  assert.ok(Math.min(...Object.values(ends)) > 0, `every kind was there: ${JSON.stringify(ends)}`);
});

test(`simulation of an event every second: ${TRAFFIC_SEEDS} seeds`, async () => {
  const module = new URL("./traffic-scenario.ts", import.meta.url);
  await playSeeds({ module, name: "playTraffic", first: 1, count: TRAFFIC_SEEDS });
});

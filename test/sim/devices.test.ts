// The whole agent with device plugins in seeded histories; thousands of them are in devices.soak.ts.
import { test } from "node:test";
import { playSeeds } from "./play-seeds.ts";

const SEEDS = 200;

test(`simulation of devices: ${SEEDS} seeds`, async () => {
  const module = new URL("./device-scenario.ts", import.meta.url);
  const tally = { running: 0, refused: 0, done: 0 };
  await playSeeds({ module, name: "playDevices", first: 1, count: SEEDS, tally });
});

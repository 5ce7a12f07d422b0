// The whole agent with device plugins in seeded histories; thousands of them are in devices.soak.ts.
import { test } from "node:test";
import { playDevices } from "./device-scenario.ts";

const SEEDS = 200;

test(`simulation of devices: ${SEEDS} seeds`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) await playDevices(seed);
});

// Ten thousand histories of plugins, devices and pods. DEVICE_SEEDS says how many, DEVICE_FIRST where to begin.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DeviceTally, playDevices } from "./device-scenario.ts";

const count = Number(process.env["DEVICE_SEEDS"] ?? "10000");
const first = Number(process.env["DEVICE_FIRST"] ?? "1");

test(`simulation of devices: ${count} seeds from ${first}`, async (t) => {
  const tally: DeviceTally = { running: 0, refused: 0, done: 0 };
  for (let seed = first; seed < first + count; seed += 1) await playDevices(seed, tally);
  t.diagnostic(`pods at the end: ${JSON.stringify(tally)}`);
  assert.ok(tally.running > tally.refused, "most pods get their devices");
});

// Ten thousand histories of plugins, devices and pods. DEVICE_SEEDS says how many, DEVICE_FIRST where to begin.
import assert from "node:assert/strict";
import { test } from "node:test";
import { playSeeds } from "./play-seeds.ts";

const count = Number(process.env["DEVICE_SEEDS"] ?? "10000");
const first = Number(process.env["DEVICE_FIRST"] ?? "1");

test(`simulation of devices: ${count} seeds from ${first}`, async (t) => {
  const module = new URL("./device-scenario.ts", import.meta.url);
  const tally = { running: 0, refused: 0, done: 0 };
  const ends = await playSeeds({ module, name: "playDevices", first, count, tally });
  t.diagnostic(`pods at the end: ${JSON.stringify(ends)}`);
  const { running = 0, refused = 0 } = ends;
  assert.ok(running > refused, "most pods get their devices");
});

// Agent, driver or both are killed at each step of the lives of a volume. CSI_KILLS says how many, CSI_FIRST where to begin.
import assert from "node:assert/strict";
import { test } from "node:test";
import { countCsiKills } from "./csi-kills.ts";
import { playSeeds } from "./play-seeds.ts";

const first = Number(process.env["CSI_FIRST"] ?? "1");

test("lives of a volume, interrupted at each step", async (t) => {
  const { seeds, different } = await countCsiKills();
  const count = Number(process.env["CSI_KILLS"] ?? seeds);
  const module = new URL("./csi-kills.ts", import.meta.url);
  const tally = { agent: 0, driver: 0, both: 0 };
  const ends = await playSeeds({ module, name: "playCsiKill", first, count, tally });
  t.diagnostic(`${count} kills, of ${different} different ones: ${JSON.stringify(ends)}`);
  assert.ok(different >= 1_000, `there are ${different} different kills`);
});

// Agent, driver or both are killed at steps of the lives of a volume. All steps come in the long run (`csi-kills.soak.ts`).
import assert from "node:assert/strict";
import { test } from "node:test";
import { playSeeds } from "./play-seeds.ts";

const KILLS = 30;

test(`lives of a volume, interrupted by ${KILLS} kills`, async () => {
  const module = new URL("./csi-kills.ts", import.meta.url);
  const tally = { agent: 0, driver: 0, both: 0 };
  const kills = await playSeeds({ module, name: "playCsiKill", first: 1, count: KILLS, tally });
  const { agent = 0, driver = 0, both = 0 } = kills;
  assert.equal(agent + driver + both, KILLS, "a kill in each");
});

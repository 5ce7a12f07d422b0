// Changes of resources in place in seeded histories; thousands of them are in resizes.soak.ts.
import { test } from "node:test";
import { playResizes } from "./resize-scenario.ts";

const SEEDS = 20;

/** Seeds that once failed, and what each of them taught. */
const LEARNED = [
  [242, "a group that was left behind is known to be so by the next agent"],
  [
    147,
    "a change that failed half way is not taken for undone when the old amounts are asked for again",
  ],
  [1244, "a request that comes again with another generation is answered for that one"],
] as const;

for (const [seed, lesson] of LEARNED)
  test(`simulation of resizes: seed ${seed}: ${lesson}`, () => playResizes(seed));

test(`simulation of resizes: ${SEEDS} seeds`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) await playResizes(seed);
});

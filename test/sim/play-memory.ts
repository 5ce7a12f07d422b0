// Plays COUNT histories of memory from FIRST: node test/sim/play-memory.ts FIRST COUNT. Prints the first three
// that fail and how pods ended, and ends with 1 if one failed.
import { type MemoryTally, playMemory } from "./memory-scenario.ts";

const [first = "1", count = "100"] = process.argv.slice(2);
const tally: MemoryTally = { running: 0, refused: 0, done: 0 };
let failed = 0;
for (let seed = Number(first); seed < Number(first) + Number(count); seed += 1) {
  try {
    await playMemory(seed, tally);
  } catch (error) {
    failed += 1;
    console.log(error instanceof Error ? (error.stack ?? error.message) : String(error));
    if (failed >= 3) break;
  }
}
console.log(
  `${count} histories from ${first}: ${failed === 0 ? "all pass" : `${failed} fail`}; pods ${JSON.stringify(tally)}`,
);
process.exitCode = failed === 0 ? 0 : 1;

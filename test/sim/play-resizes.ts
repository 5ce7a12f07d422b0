// Plays COUNT seeds of changes in place from FIRST: node test/sim/play-resizes.ts FIRST COUNT. Prints the first
// three that fail and ends with 1 if there is one.
import { playResizes, type ResizeTally } from "./resize-scenario.ts";

const [first = "1", count = "100"] = process.argv.slice(2);
const tally: ResizeTally = { given: 0, deferred: 0, infeasible: 0 };
let failed = 0;
for (let seed = Number(first); seed < Number(first) + Number(count); seed += 1) {
  try {
    await playResizes(seed, tally);
  } catch (error) {
    failed += 1;
    console.log(error instanceof Error ? (error.stack ?? error.message) : String(error));
    if (failed >= 3) break;
  }
}
console.log(JSON.stringify(tally));
console.log(`${count} seeds from ${first}: ${failed === 0 ? "all pass" : `${failed} fail`}`);
process.exitCode = failed === 0 ? 0 : 1;

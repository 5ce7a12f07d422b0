// Plays the seeds that once failed, then COUNT from FIRST: node test/sim/play.ts FIRST COUNT. Prints the
// first three that fail and ends with 1 if there is one.
import { playScenario } from "./scenario.ts";
import { LEARNED } from "./seeds.ts";

const [first = "1", count = "100"] = process.argv.slice(2);
let failed = 0;
const learned = LEARNED.map(([seed]) => seed);
const fresh = Array.from({ length: Number(count) }, (_, i) => Number(first) + i);
for (const seed of [...learned, ...fresh]) {
  try {
    await playScenario(seed);
  } catch (error) {
    failed += 1;
    console.log(
      error instanceof Error
        ? error.name === "Error"
          ? error.message
          : error.stack
        : String(error),
    );
    if (failed >= 3) break;
  }
}
console.log(`${count} seeds from ${first}: ${failed === 0 ? "all pass" : `${failed} fail`}`);
process.exitCode = failed === 0 ? 0 : 1;

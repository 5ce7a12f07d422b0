// Plays seeds: node test/sim/play.ts FIRST COUNT. Prints every failing seed and ends with 1 if there is one.
import { playScenario } from "./scenario.ts";

const [first = "1", count = "100"] = process.argv.slice(2);
let failed = 0;
for (let seed = Number(first); seed < Number(first) + Number(count); seed += 1) {
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

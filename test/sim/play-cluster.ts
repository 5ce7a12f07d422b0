// Plays COUNT seeds of a node in a cluster from FIRST: node test/sim/play-cluster.ts FIRST COUNT. Prints the
// first three that fail and ends with 1 if there is one.
import { playClusterScenario } from "./cluster-scenario.ts";

const [first = "1", count = "100"] = process.argv.slice(2);
let failed = 0;
for (let seed = Number(first); seed < Number(first) + Number(count); seed += 1) {
  try {
    await playClusterScenario(seed);
  } catch (error) {
    failed += 1;
    console.log(error instanceof Error ? (error.stack ?? error.message) : String(error));
    if (failed >= 3) break;
  }
}
console.log(`${count} seeds from ${first}: ${failed === 0 ? "all pass" : `${failed} fail`}`);
process.exitCode = failed === 0 ? 0 : 1;

// Plays COUNT seeds of changes in place from FIRST: node test/sim/play-resizes.ts FIRST COUNT FAILURES. Prints how they ended as well.
import { playArguments } from "./play-arguments.ts";
import { playResizes, type ResizeTally } from "./resize-scenario.ts";

const tally: ResizeTally = { given: 0, deferred: 0, infeasible: 0 };
await playArguments((seed) => playResizes(seed, tally));
console.log(JSON.stringify(tally));

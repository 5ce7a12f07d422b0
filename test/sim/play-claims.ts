// Plays COUNT histories of claims from FIRST: node test/sim/play-claims.ts FIRST COUNT FAILURES. Prints how they ended as well.
import { type ClaimTally, playClaims } from "./claim-scenario.ts";
import { playArguments } from "./play-arguments.ts";

const tally: ClaimTally = { running: 0, done: 0, used: 0, unprepared: 0 };
await playArguments((seed) => playClaims(seed, tally));
console.log(JSON.stringify(tally));

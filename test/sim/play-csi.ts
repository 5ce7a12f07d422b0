// Plays COUNT kills from FIRST: node test/sim/play-csi.ts FIRST COUNT FAILURES. Prints who was killed as well.
import { type KillTally, playCsiKill } from "./csi-kills.ts";
import { playArguments } from "./play-arguments.ts";

const tally: KillTally = { agent: 0, driver: 0, both: 0 };
await playArguments((seed) => playCsiKill(seed, tally));
console.log(JSON.stringify(tally));

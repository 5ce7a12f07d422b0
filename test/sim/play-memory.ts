// Plays COUNT histories of memory from FIRST: node test/sim/play-memory.ts FIRST COUNT FAILURES. Prints how they ended as well.
import { type MemoryTally, playMemory } from "./memory-scenario.ts";
import { playArguments } from "./play-arguments.ts";

const tally: MemoryTally = { running: 0, refused: 0, done: 0 };
await playArguments((seed) => playMemory(seed, tally));
console.log(JSON.stringify(tally));

// Plays COUNT seeds of a node that runs short from FIRST: node test/sim/play-eviction.ts FIRST COUNT.
import { playEviction } from "./eviction-scenario.ts";
import { playArguments } from "./play-arguments.ts";

await playArguments((seed) => playEviction(seed));

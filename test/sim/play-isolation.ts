// Plays COUNT seeds with broken objects from FIRST: node test/sim/play-isolation.ts FIRST COUNT.
import { playIsolation } from "./isolation-scenario.ts";
import { playArguments } from "./play-arguments.ts";

await playArguments((seed) => playIsolation(seed));

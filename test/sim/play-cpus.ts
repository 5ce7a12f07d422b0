// Plays COUNT histories of nodes with exclusive CPUs from FIRST: node test/sim/play-cpus.ts FIRST COUNT FAILURES.
import { CPU_SEEDS } from "./exclusive-cpus.ts";
import { playArguments } from "./play-arguments.ts";
import { playScenario } from "./scenario.ts";

await playArguments((seed) => playScenario(seed * CPU_SEEDS));

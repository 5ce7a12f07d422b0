// Plays COUNT seeds of a node in a cluster from FIRST: node test/sim/play-cluster.ts FIRST COUNT FAILURES.
import { playClusterScenario } from "./cluster-scenario.ts";
import { playArguments } from "./play-arguments.ts";

await playArguments(playClusterScenario);

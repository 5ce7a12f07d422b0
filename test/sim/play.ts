// Plays the seeds that once failed, then COUNT from FIRST: node test/sim/play.ts FIRST COUNT FAILURES.
import { playArguments } from "./play-arguments.ts";
import { playScenario } from "./scenario.ts";
import { LEARNED } from "./seeds.ts";

await playArguments(
  playScenario,
  LEARNED.map(([seed]) => seed),
);

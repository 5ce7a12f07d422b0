// Plays COUNT seeds with a URL that does not answer from FIRST: node test/sim/play-url.ts FIRST COUNT.
import { playArguments } from "./play-arguments.ts";
import { playUrl } from "./url-scenario.ts";

await playArguments(playUrl);

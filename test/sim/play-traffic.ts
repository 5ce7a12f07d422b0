// Plays COUNT seeds with an event every second from FIRST: node test/sim/play-traffic.ts FIRST COUNT.
import { playArguments } from "./play-arguments.ts";
import { playTraffic } from "./traffic-scenario.ts";

await playArguments(playTraffic);

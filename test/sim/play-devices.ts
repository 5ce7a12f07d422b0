// Plays COUNT histories of devices from FIRST: node test/sim/play-devices.ts FIRST COUNT FAILURES. Prints how they ended as well.
import { type DeviceTally, playDevices } from "./device-scenario.ts";
import { playArguments } from "./play-arguments.ts";

const tally: DeviceTally = { running: 0, refused: 0, done: 0 };
await playArguments((seed) => playDevices(seed, tally));
console.log(JSON.stringify(tally));

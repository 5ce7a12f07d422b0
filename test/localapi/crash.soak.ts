// The long crash series of `nodelet up`: NODELET_CRASH_ROUNDS kills, 200 by default.
import { test } from "node:test";
import { killUpAgainAndAgain } from "./crash-up.ts";

const ROUNDS = Number(process.env["NODELET_CRASH_ROUNDS"] ?? "200");

test(`${ROUNDS} times all of nodelet up killed while it writes, its API has what it acknowledged`, async () => {
  console.log(JSON.stringify(await killUpAgainAndAgain(ROUNDS)));
});

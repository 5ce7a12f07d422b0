// Longer than the 180 s after which a node whose runtime was not listed is not ready.
import { test } from "node:test";
import { playEventTraffic } from "./event-traffic.ts";

const SECONDS = Number(process.env["SOAK_SECONDS"] ?? 300);

test(`${SECONDS} s of an event every second: the runtime is listed on time`, (t) =>
  playEventTraffic(t, SECONDS));

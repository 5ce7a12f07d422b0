// Five minutes of it are in event-traffic.soak.ts.
import { test } from "node:test";
import { playEventTraffic } from "./event-traffic.ts";

const SECONDS = 100;

test(`${SECONDS} s of an event every second: the runtime is listed on time`, (t) =>
  playEventTraffic(t, SECONDS));

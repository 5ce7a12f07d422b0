// A hundred kills of the agent (NODELET_CPU_KILLS) while pods that have a CPU alone come and go.
import { test } from "node:test";
import { killAtRandom } from "./kill-at-random.ts";

const CYCLES = Number(process.env["NODELET_CPU_KILLS"] ?? 100);

test(`no CPU has two owners in ${CYCLES} kills of the agent`, () => killAtRandom(CYCLES));

// Some pods of every kind under random deaths of containers and agent. The long run, chaos.soak.ts, kills containerd
// too, which forgets what it was making.
import { test } from "node:test";
import { runChaos } from "./chaos.ts";

/** The soak chooses others: a change that is tested must not fail for what another seed would have shown before it. */
const SEED = Number(process.env["NODELET_CHAOS_SEED"] ?? 55_149);

test(`chaos, seed ${SEED}: all pods as their specs ask for, then nothing is left of them`, async () => {
  console.log(await runChaos({ pods: 16, durationMs: 20_000, seed: SEED, runtimeDies: false }));
});

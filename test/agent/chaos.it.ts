// Some pods of every kind under random deaths of containers and agent. The long run, chaos.soak.ts, kills containerd
// too, which forgets what it was making.
import { test } from "node:test";
import { runChaos } from "./chaos.ts";

const SEED = Number(process.env["NODELET_CHAOS_SEED"] ?? Date.now() % 100_000);

test(`chaos, seed ${SEED}: all pods as their specs ask for, then nothing is left of them`, async () => {
  console.log(await runChaos({ pods: 16, durationMs: 20_000, seed: SEED, runtimeDies: false }));
});

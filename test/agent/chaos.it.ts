// Some pods of every kind under random deaths of containers, containerd and agent. The long run is chaos.soak.ts.
import { test } from "node:test";
import { runChaos } from "./chaos.ts";

const SEED = Number(process.env["NODELET_CHAOS_SEED"] ?? Date.now() % 100_000);

test(`chaos, seed ${SEED}: all pods as their specs ask for, then nothing is left of them`, async () => {
  console.log(await runChaos({ pods: 16, durationMs: 20_000, seed: SEED }));
});

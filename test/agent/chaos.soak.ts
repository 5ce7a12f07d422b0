// Many pods under random deaths of containers, containerd and agent for a long time: NODELET_CHAOS_PODS (50),
// NODELET_CHAOS_SECONDS (600), NODELET_CHAOS_SEED, NODELET_CHAOS_CONTAINERD (machine, 1.7 or 2.1).
import { test } from "node:test";
import type { ContainerdVersion } from "../box/box.ts";
import { runChaos } from "./chaos.ts";

const { env } = process;
const PODS = Number(env["NODELET_CHAOS_PODS"] ?? 50);
const SECONDS = Number(env["NODELET_CHAOS_SECONDS"] ?? 600);
const SEED = Number(env["NODELET_CHAOS_SEED"] ?? Date.now() % 100_000);
const CONTAINERD = (env["NODELET_CHAOS_CONTAINERD"] ?? "machine") as ContainerdVersion;

test(`chaos, ${PODS} pods, ${SECONDS} s, seed ${SEED}: all as asked for, then nothing is left`, async () => {
  const figures = await runChaos({
    pods: PODS,
    durationMs: SECONDS * 1000,
    seed: SEED,
    runtimeDies: true,
    containerd: CONTAINERD,
  });
  console.log(figures);
});

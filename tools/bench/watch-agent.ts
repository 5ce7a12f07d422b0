import { setTimeout as sleep } from "node:timers/promises";
import { machineCpuMs, processFigures } from "./process-figures.ts";
import type { Steady } from "./result.ts";

/** The figures of an agent over a window in which the bench leaves it alone; `pods` is only noted. */
export async function watchAgent(
  pid: number,
  { pods, seconds }: { readonly pods: number; readonly seconds: number },
  signal: AbortSignal,
): Promise<Steady> {
  const startedAt = performance.now();
  const [before, allBefore] = [processFigures(pid), machineCpuMs()];
  await sleep(seconds * 1000, undefined, { signal });
  const [after, allAfter] = [processFigures(pid), machineCpuMs()];
  const elapsedMs = performance.now() - startedAt;
  const ownMs = after.cpuMs - before.cpuMs;
  return {
    pods,
    seconds: elapsedMs / 1000,
    cpuMilli: (ownMs / elapsedMs) * 1000,
    wakings: ((after.wakings - before.wakings) / elapsedMs) * 1000,
    elsewhereCores: Math.max(0, allAfter - allBefore - ownMs) / elapsedMs,
    rssMib: after.rssMib,
    anonymousMib: after.anonymousMib,
  };
}

/** Present CPU and memory usage of this machine. */
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseMeminfo } from "../../../kit/proc/meminfo.ts";
import type { NodeUsage } from "../../../present/tables/node-summary.ts";

/** Minimum interval for a meaningful share. */
const MIN_SPAN_MS = 500;

/** Measures usage: of processors since the call before, of memory now. */
export function createUsageMeter(): () => NodeUsage {
  let before = cpuTimes();
  let cpuMilli: number | undefined;
  return () => {
    const now = cpuTimes();
    const total = now.totalMs - before.totalMs;
    if (total > MIN_SPAN_MS) {
      cpuMilli = ((now.busyMs - before.busyMs) / total) * now.count * 1000;
      before = now;
    }
    return { cpuMilli, memoryBytes: usedMemory() };
  };
}

function cpuTimes(): { readonly busyMs: number; readonly totalMs: number; readonly count: number } {
  const all = cpus();
  let totalMs = 0;
  let idleMs = 0;
  for (const { times } of all) {
    totalMs += times.user + times.nice + times.sys + times.idle + times.irq;
    idleMs += times.idle;
  }
  return { busyMs: totalMs - idleMs, totalMs, count: all.length };
}

/** Memory that is neither free nor can be had back at once. */
function usedMemory(): number {
  const bytes = parseMeminfo(readFileSync("/proc/meminfo", "utf8"));
  return (bytes.get("MemTotal") ?? 0) - (bytes.get("MemAvailable") ?? 0);
}

// A box that believes itself another machine, and its cgroups as they are.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Box } from "../box/box.ts";
import { cgroupRoots } from "../box/prerequisites.ts";

/** Makes the box's kernel report other figures of the machine than it has. */
export async function disguise(
  box: Box,
  machine: { readonly cpus: number; readonly memoryBytes: number },
): Promise<void> {
  const { cpus, memoryBytes } = machine;
  await box.run([
    "sh",
    "-c",
    `echo 0-${cpus - 1} >/run/online && mount --bind /run/online /sys/devices/system/cpu/online &&
     sed 's/^MemTotal:.*/MemTotal: ${memoryBytes / 1024} kB/' /proc/meminfo >/run/meminfo &&
     mount --bind /run/meminfo /proc/meminfo`,
  ]);
}

/** Which hierarchy of v1 a file is in. */
function controllerOf(file: string): string {
  const prefix = file.slice(0, file.indexOf("."));
  return prefix === "cgroup" ? "memory" : prefix;
}

/** The value of a file of a group of the box; `undefined` when it is not there. */
export function groupValue(box: Box, path: string, file: string): string | undefined {
  try {
    const folder = box.cgroupPath(path, controllerOf(file));
    return readFileSync(join(folder, file), "utf8").trim();
  } catch {
    return undefined;
  }
}

/** Nanoseconds of CPU that the group has used. */
export function cpuUsed(box: Box, path: string): number {
  if (cgroupRoots().version === 1) return Number(groupValue(box, path, "cpuacct.usage"));
  const stat = groupValue(box, path, "cpu.stat") ?? "";
  return Number(/^usage_usec (\d+)/m.exec(stat)?.[1]) * 1000;
}

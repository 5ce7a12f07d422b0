import type {
  GroupFigures,
  MemoryFigures,
  Pressure,
  SwapFigures,
} from "../../api/figures/figures.ts";
import type { WallMs } from "../../kit/clock.ts";
import { parseMeminfo } from "../../kit/proc/meminfo.ts";
import type { Host, HostFacts } from "../../outside/host/host.ts";
import { parseKeyed, parsePressure } from "./parse.ts";
import { cpuV2, type Detail, diskCounters, type ReadOptions, readGroup } from "./read-group.ts";

type NodeHost = Pick<Host, "cgroups" | "readKernel">;

/** The machine, and how it counts. */
export interface CountedMachine extends Pick<HostFacts, "memoryBytes" | "hugepages"> {
  /** Memory set aside for huge pages is not available to anything else (gate HugepageAwareEviction). */
  readonly hugepageAware: boolean;
}

/**
 * The figures of the whole machine: of the root group, as far as the kernel counts there, else out of
 * /proc. The limit is what the machine has.
 */
export function readNodeGroup(
  host: NodeHost,
  machine: CountedMachine,
  atMs: WallMs,
  options: ReadOptions,
): GroupFigures {
  const { cgroups } = host;
  const meminfo = parseMeminfo(host.readKernel("/proc/meminfo") ?? "");
  const hugepageBytes = meminfo.get("Hugetlb") ?? bytesOf(machine.hugepages);
  const root = readGroup(cgroups, "/", atMs, { ...options, pressure: false, swap: "ignored" });
  const cpu = root?.cpu ?? cpuV2(cgroups.readNow("/", ["cpu.stat"])[0]);
  const memory = root?.memory ?? machineMemory(host, meminfo, hugepageBytes);
  const swap = machineSwap(meminfo);
  return {
    hugepages: [],
    devices: [],
    ...root,
    atMs,
    ...(cpu ? { cpu } : {}),
    ...(memory
      ? {
          memory: {
            ...memory,
            limitBytes: machine.memoryBytes,
            ...(machine.hugepageAware && hugepageBytes > 0 ? { hugepageBytes } : {}),
          },
        }
      : {}),
    ...(swap ? { swap } : {}),
    pressure: options.pressure ? machinePressure(host) : {},
  };
}

const bytesOf = (hugepages: HostFacts["hugepages"]): number =>
  hugepages.reduce((sum, { sizeBytes, pages }) => sum + sizeBytes * pages, 0);

/**
 * Version 2 has no counter at the root: what is not free is in use, but for huge pages, which no group's memory
 * counts, and neither does the root of version 1.
 */
function machineMemory(
  { cgroups }: NodeHost,
  meminfo: ReadonlyMap<string, number>,
  hugepageBytes: number,
): MemoryFigures | undefined {
  const [total, free] = [meminfo.get("MemTotal"), meminfo.get("MemFree")];
  if (total === undefined || free === undefined) return undefined;
  const stat = parseKeyed(cgroups.readNow("/", ["memory.stat"])[0]);
  const of = (counter: string, line: string) => stat.get(counter) ?? meminfo.get(line) ?? 0;
  const usageBytes = Math.max(0, total - free - hugepageBytes);
  const inactiveFileBytes = of("inactive_file", "Inactive(file)");
  return {
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - inactiveFileBytes),
    rssBytes: of("anon", "AnonPages"),
    cacheBytes: of("file", "Cached"),
    mappedBytes: of("file_mapped", "Mapped"),
    activeFileBytes: of("active_file", "Active(file)"),
    inactiveFileBytes,
    pageFaults: stat.get("pgfault") ?? 0,
    majorPageFaults: stat.get("pgmajfault") ?? 0,
  };
}

function machineSwap(meminfo: ReadonlyMap<string, number>): SwapFigures | undefined {
  const [total, free] = [meminfo.get("SwapTotal"), meminfo.get("SwapFree")];
  if (total === undefined || free === undefined) return undefined;
  return { usageBytes: total - free, limitBytes: total };
}

function machinePressure(host: NodeHost): GroupFigures["pressure"] {
  const pressures: { cpu?: Pressure; memory?: Pressure; io?: Pressure } = {};
  for (const resource of ["cpu", "memory", "io"] as const) {
    const pressure = parsePressure(host.readKernel(`/proc/pressure/${resource}`));
    if (pressure) pressures[resource] = pressure;
  }
  return pressures;
}

/** How to read groups whose memory and tasks alone are asked for. */
export const MEMORY_ONLY: ReadOptions = {
  detail: "usage",
  hugepageSizes: [],
  diskCounters: [],
  swap: "ignored",
  pressure: false,
};

/** How to read groups in this detail: what the machine as a whole has none of is not read in any. */
export function optionsOf(
  detail: Detail,
  host: NodeHost,
  facts: Pick<HostFacts, "hugepages">,
): Pick<ReadOptions, "detail" | "hugepageSizes" | "diskCounters"> {
  if (detail === "usage") return { detail, hugepageSizes: [], diskCounters: [] };
  const hugepageSizes = hugepagesInUse(host, facts);
  return { detail, hugepageSizes, diskCounters: diskCounters(host.cgroups) };
}

/** Sizes of huge pages, as the kernel names them, of which the machine has pages now: of others no group has any. */
function hugepagesInUse(
  host: Pick<Host, "readKernel">,
  { hugepages }: Pick<HostFacts, "hugepages">,
): readonly string[] {
  return hugepages
    .filter(({ sizeBytes }) => {
      const folder = `/sys/kernel/mm/hugepages/hugepages-${sizeBytes / 1024}kB`;
      return Number(host.readKernel(`${folder}/nr_hugepages`) ?? 0) > 0;
    })
    .map(({ sizeBytes }) => hugepageName(sizeBytes));
}

/** `2MB` for 2 MiB, as the kernel names it (hugetlb_cgroup.c). */
function hugepageName(sizeBytes: number): string {
  for (const [unit, bytes] of [
    ["GB", 2 ** 30],
    ["MB", 2 ** 20],
    ["KB", 2 ** 10],
  ] as const)
    if (sizeBytes >= bytes) return `${sizeBytes / bytes}${unit}`;
  return `${sizeBytes}B`;
}

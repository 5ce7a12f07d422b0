import type {
  CpuFigures,
  CpuSpec,
  DeviceFigures,
  GroupFigures,
  HugepageFigures,
  MemoryFigures,
  PressureFigures,
  SwapFigures,
} from "../../api/figures/figures.ts";
import type { WallMs } from "../../kit/clock.ts";
import type { CgroupTree } from "../../outside/host/host.ts";
import type { Held } from "./held.ts";
import {
  keyedNumber,
  parseBlkio,
  parseIoStat,
  parseKeyed,
  parseLimit,
  parseNumber,
  parsePressure,
} from "./parse.ts";

/** How much is read of a group: what the summary shows, or everything that there is a metric of. */
export type Detail = "usage" | "all";

export interface ReadOptions {
  readonly detail: Detail;
  /** Sizes of huge pages as the kernel writes them. */
  readonly hugepageSizes: readonly string[];
  /** Whether the machine has swap; on one without, groups have the figure 0, as the Go kubelet shows them. */
  readonly swap: "used" | "none" | "ignored";
  readonly pressure: boolean;
  /** On version 1: the counters of disk operations to read, of `diskCounters`. */
  readonly diskCounters: readonly DiskCounters[];
  /** Holds limits, by path; without it they are read again. */
  readonly limits?: Held<GroupLimits>;
  /** The same for limits of swap on a machine that has none. */
  readonly swapLimits?: Held<number | undefined>;
}

/** Limits of a group that rarely change. */
type GroupLimits = Pick<GroupFigures, "cpuSpec" | "maxTasks" | "memoryReservationBytes">;

/** Ticks of `cpuacct.stat`: 100 a second wherever Linux runs containers. */
const NANOS_PER_TICK = 10_000_000;

/** The figures of a group; `undefined` when it is not there. */
export function readGroup(
  tree: CgroupTree,
  path: string,
  atMs: WallMs,
  options: ReadOptions,
): GroupFigures | undefined {
  return tree.version === 1
    ? readGroupV1(tree, path, atMs, options)
    : readGroupV2(tree, path, atMs, options);
}

const V1_USAGE = [
  "cpuacct.usage",
  "memory.stat",
  "memory.usage_in_bytes",
  "memory.limit_in_bytes",
  "pids.current",
] as const;

function readGroupV1(
  tree: CgroupTree,
  path: string,
  atMs: WallMs,
  options: ReadOptions,
): GroupFigures | undefined {
  const [usage, stat, used, limit, tasks] = tree.readNow(path, V1_USAGE);
  const usageNanos = parseNumber(usage);
  const usageBytes = parseNumber(used);
  if (usageNanos === undefined && usageBytes === undefined) return undefined;
  const isAll = options.detail === "all";
  const more = isAll ? heldLimits(options, path, () => limitsV1(tree, path)) : {};
  const memory =
    usageBytes === undefined ? undefined : memoryOf({ usageBytes, limit, stat, prefix: "total_" });
  return {
    atMs,
    ...(usageNanos === undefined
      ? {}
      : { cpu: isAll ? cpuV1(tree, path, usageNanos, more) : { usageNanos } }),
    ...(memory ? { memory: isAll ? { ...memory, ...memoryMoreV1(tree, path) } : memory } : {}),
    ...optional("swap", swapOf(tree, path, options, memory)),
    ...optional("tasks", parseNumber(tasks)),
    pressure: {},
    hugepages: hugepages(tree, path, options, (size) => [
      `hugetlb.${size}.usage_in_bytes`,
      `hugetlb.${size}.max_usage_in_bytes`,
      `hugetlb.${size}.failcnt`,
    ]),
    devices: isAll ? devicesV1(tree, path, options) : [],
    ...more,
  };
}

/** Periods are counted for groups with a quota only: those of others are not read. */
function cpuV1(
  tree: CgroupTree,
  path: string,
  usageNanos: number,
  { cpuSpec }: Pick<GroupFigures, "cpuSpec">,
): CpuFigures {
  const files = cpuSpec?.quotaUs === undefined ? ["cpuacct.stat"] : ["cpuacct.stat", "cpu.stat"];
  const [split, quota] = tree.readNow(path, files);
  return {
    usageNanos,
    userNanos: (keyedNumber(split, "user") ?? 0) * NANOS_PER_TICK,
    systemNanos: (keyedNumber(split, "system") ?? 0) * NANOS_PER_TICK,
    periods: keyedNumber(quota, "nr_periods") ?? 0,
    throttledPeriods: keyedNumber(quota, "nr_throttled") ?? 0,
    throttledNanos: keyedNumber(quota, "throttled_time") ?? 0,
  };
}

interface MemorySource {
  readonly usageBytes: number;
  readonly limit: string | undefined;
  /** `memory.stat`. */
  readonly stat: string | undefined;
  /** Before the names of version 1 that count what is beneath too. */
  readonly prefix: "total_" | "";
}

function memoryOf({ usageBytes, limit, stat, prefix }: MemorySource): MemoryFigures {
  const of = (v1: string, v2 = v1) => keyedNumber(stat, prefix === "" ? v2 : `${prefix}${v1}`) ?? 0;
  const inactiveFileBytes = of("inactive_file");
  const limitBytes = parseLimit(limit);
  return {
    usageBytes,
    workingSetBytes: Math.max(0, usageBytes - inactiveFileBytes),
    rssBytes: of("rss", "anon"),
    cacheBytes: of("cache", "file"),
    mappedBytes: of("mapped_file", "file_mapped"),
    activeFileBytes: of("active_file"),
    inactiveFileBytes,
    // Of version 1 those of the group's own processes, as cAdvisor has them (libcontainer/handler.go setMemoryStats).
    pageFaults: keyedNumber(stat, "pgfault") ?? 0,
    majorPageFaults: keyedNumber(stat, "pgmajfault") ?? 0,
    ...(limitBytes === undefined ? {} : { limitBytes }),
  };
}

/** The swap of a group with memory; without swap on the machine only limits are read, and those are held. */
function swapOf(
  tree: CgroupTree,
  path: string,
  { swap, swapLimits }: ReadOptions,
  memory: MemoryFigures | undefined,
): SwapFigures | undefined {
  if (swap === "ignored" || !memory) return undefined;
  const limit = () => readSwapLimit(tree, path, memory.limitBytes);
  const limitBytes = swap === "none" && swapLimits ? swapLimits.get(path, limit) : limit();
  const usageBytes = swap === "none" ? 0 : readSwapUsage(tree, path, memory.usageBytes);
  return { usageBytes, ...optional("limitBytes", limitBytes) };
}

/** Swap that a group uses. Version 1 counts memory with swap; the difference is swap. A kernel that does not count it gives 0. */
function readSwapUsage(tree: CgroupTree, path: string, memoryBytes: number): number {
  if (tree.version === 2) return parseNumber(tree.readNow(path, ["memory.swap.current"])[0]) ?? 0;
  const [both] = tree.readNow(path, ["memory.memsw.usage_in_bytes"]);
  return Math.max(0, (parseNumber(both) ?? 0) - memoryBytes);
}

/** Swap that a group may use; `undefined` without a limit. A group that the kernel knows no limit of may use none. */
function readSwapLimit(
  tree: CgroupTree,
  path: string,
  memoryLimitBytes: number | undefined,
): number | undefined {
  const file = tree.version === 2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes";
  const [text] = tree.readNow(path, [file]);
  if (text === undefined) return 0;
  const limitBytes = parseLimit(text);
  if (tree.version === 2 || limitBytes === undefined) return limitBytes;
  return memoryLimitBytes === undefined ? undefined : Math.max(0, limitBytes - memoryLimitBytes);
}

function memoryMoreV1(tree: CgroupTree, path: string): Partial<MemoryFigures> {
  const [kernel, peak, failures] = tree
    .readNow(path, ["memory.kmem.usage_in_bytes", "memory.max_usage_in_bytes", "memory.failcnt"])
    .map(parseNumber);
  return {
    ...optional("kernelBytes", kernel),
    ...optional("peakBytes", peak),
    ...optional("failures", failures),
  };
}

/** Where version 1 counts the work of groups on disks, in runc's order (fs/blkio.go): BFQ, CFQ, throttling. */
const DISK_COUNTERS = ["blkio.bfq", "blkio", "blkio.throttle"] as const;

/** One of these. */
type DiskCounters = (typeof DISK_COUNTERS)[number];

const diskFiles = (counters: DiskCounters) =>
  [`${counters}.io_service_bytes_recursive`, `${counters}.io_serviced_recursive`] as const;

/** Whether there is more than the sum of all devices. */
const hasDevices = (text: string | undefined) => text !== undefined && /^\d/.test(text);

/**
 * The counters of version 1 that the kernel keeps on this machine: those of BFQ only for disks with that scheduler, those of
 * throttling since Linux 6.10 only for disks that some group has a limit on. The root includes every group, so
 * none has what is missing in the root.
 */
export function diskCounters(tree: CgroupTree): readonly DiskCounters[] {
  if (tree.version === 2) return [];
  return DISK_COUNTERS.filter((counters) =>
    hasDevices(tree.readNow("/", diskFiles(counters).slice(0, 1))[0]),
  );
}

/** As runc: what the first of the counters has that has anything. */
function devicesV1(tree: CgroupTree, path: string, options: ReadOptions): readonly DeviceFigures[] {
  for (const counters of options.diskCounters) {
    const [bytesFile, operationsFile] = diskFiles(counters);
    const [bytes] = tree.readNow(path, [bytesFile]);
    if (hasDevices(bytes)) return parseBlkio(bytes, tree.readNow(path, [operationsFile])[0]);
  }
  return [];
}

function heldLimits({ limits }: ReadOptions, path: string, read: () => GroupLimits): GroupLimits {
  return limits ? limits.get(path, read) : read();
}

function limitsV1(tree: CgroupTree, path: string): GroupLimits {
  const files = ["cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us", "pids.max"];
  const [shares, period, quota, maxTasks, reservation] = tree.readNow(path, [
    ...files,
    "memory.soft_limit_in_bytes",
  ]);
  return {
    ...optional("memoryReservationBytes", parseLimit(reservation)),
    ...optional("cpuSpec", specOf(parseNumber(shares), parseNumber(period), parseNumber(quota))),
    ...optional("maxTasks", maxTasksOf(maxTasks)),
  };
}

function specOf(
  shares: number | undefined,
  periodUs: number | undefined,
  quotaUs: number | undefined,
): CpuSpec | undefined {
  if (shares === undefined) return undefined;
  return { shares, periodUs: periodUs ?? 0, ...optional("quotaUs", quotaUs) };
}

const V2_USAGE = [
  "cpu.stat",
  "memory.stat",
  "memory.current",
  "memory.max",
  "pids.current",
] as const;

function readGroupV2(
  tree: CgroupTree,
  path: string,
  atMs: WallMs,
  options: ReadOptions,
): GroupFigures | undefined {
  const [cpuText, stat, used, limit, tasks] = tree.readNow(path, V2_USAGE);
  const usageBytes = parseNumber(used);
  if (cpuText === undefined && usageBytes === undefined) return undefined;
  const isAll = options.detail === "all";
  const memory =
    usageBytes === undefined ? undefined : memoryOf({ usageBytes, limit, stat, prefix: "" });
  const [events] = isAll ? tree.readNow(path, ["memory.events"]) : [];
  return {
    atMs,
    ...optional("cpu", cpuV2(cpuText)),
    ...(memory
      ? { memory: isAll ? { ...memory, ...memoryMoreV2(tree, path, { stat, events }) } : memory }
      : {}),
    ...optional("swap", swapOf(tree, path, options, memory)),
    ...optional("tasks", parseNumber(tasks)),
    pressure: options.pressure ? pressureV2(tree, path) : {},
    hugepages: hugepages(tree, path, options, (size) => [
      `hugetlb.${size}.current`,
      "",
      `hugetlb.${size}.events`,
    ]),
    devices: isAll ? parseIoStat(tree.readNow(path, ["io.stat"])[0]) : [],
    ...(isAll ? heldLimits(options, path, () => limitsV2(tree, path)) : {}),
  };
}

/** The CPU's counters; the names are in microseconds. */
export function cpuV2(text: string | undefined): CpuFigures | undefined {
  if (text === undefined) return undefined;
  const stat = parseKeyed(text);
  const nanos = (name: string) => (stat.get(name) ?? 0) * 1000;
  const throttled = stat.has("nr_periods")
    ? {
        periods: stat.get("nr_periods") ?? 0,
        throttledPeriods: stat.get("nr_throttled") ?? 0,
        throttledNanos: nanos("throttled_usec"),
      }
    : {};
  return {
    usageNanos: nanos("usage_usec"),
    userNanos: nanos("user_usec"),
    systemNanos: nanos("system_usec"),
    ...throttled,
  };
}

function memoryMoreV2(
  tree: CgroupTree,
  path: string,
  { stat, events }: { readonly stat: string | undefined; readonly events: string | undefined },
): Partial<MemoryFigures> {
  const [peak] = tree.readNow(path, ["memory.peak"]);
  return {
    ...optional("kernelBytes", keyedNumber(stat, "kernel")),
    ...optional("peakBytes", parseNumber(peak)),
    ...optional("failures", keyedNumber(events, "max")),
    ...optional("highEvents", keyedNumber(events, "high")),
    ...optional("maxEvents", keyedNumber(events, "max")),
  };
}

function pressureV2(tree: CgroupTree, path: string): PressureFigures {
  const [cpu, memory, io] = tree
    .readNow(path, ["cpu.pressure", "memory.pressure", "io.pressure"])
    .map(parsePressure);
  return { ...optional("cpu", cpu), ...optional("memory", memory), ...optional("io", io) };
}

function limitsV2(tree: CgroupTree, path: string): GroupLimits {
  const [weight, max, maxTasks, reservation] = tree.readNow(path, [
    "cpu.weight",
    "cpu.max",
    "pids.max",
    "memory.min",
  ]);
  const [quota, period] = (max ?? "").split(" ");
  const value = parseNumber(weight);
  const shares = value === undefined ? undefined : sharesOfWeight(value);
  return {
    ...optional("memoryReservationBytes", parseLimit(reservation)),
    ...optional("cpuSpec", specOf(shares, parseNumber(period), parseNumber(quota))),
    ...optional("maxTasks", maxTasksOf(maxTasks)),
  };
}

/** `pids.max`; cAdvisor shows no limit as 0. */
function maxTasksOf(text: string | undefined): number | undefined {
  return text === "max" ? 0 : parseNumber(text);
}

/** The shares behind a weight that the agent wrote (the linear map, backwards). */
function sharesOfWeight(weight: number): number {
  return Math.floor(((weight - 1) * 262_142) / 9_999) + 2;
}

function hugepages(
  tree: CgroupTree,
  path: string,
  { detail, hugepageSizes }: ReadOptions,
  filesOf: (size: string) => readonly [usage: string, peak: string, failures: string],
): readonly HugepageFigures[] {
  if (detail !== "all") return [];
  return hugepageSizes.flatMap((size): readonly HugepageFigures[] => {
    const [usageFile, peakFile, failuresFile] = filesOf(size);
    const usageBytes = parseNumber(tree.readNow(path, [usageFile])[0]);
    if (usageBytes === undefined) return [];
    const peak = peakFile === "" ? undefined : parseNumber(tree.readNow(path, [peakFile])[0]);
    const events = tree.readNow(path, [failuresFile])[0];
    const failures = parseNumber(events) ?? parseKeyed(events).get("max");
    return [
      { size, usageBytes, ...optional("peakBytes", peak), ...optional("failures", failures) },
    ];
  });
}

/** A member that is left out when there is no value. */
function optional<K extends string, V>(name: K, value: V | undefined): { readonly [key in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [key in K]?: V });
}

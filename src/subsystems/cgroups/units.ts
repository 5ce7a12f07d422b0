// pure
import type { UnitProperty } from "../../outside/systemd/systemd.ts";
import type { CgroupShape, CgroupWrite } from "./writes.ts";

/** "No limit" of every number that systemd keeps (such as USEC_INFINITY). */
const INFINITY = 2n ** 64n - 1n;

const ROOT_SLICE = "-.slice";
const DEFAULT_PERIOD_US = 100_000n;
const MICROS_PER_SECOND = 1_000_000n;
const CPUS_PER_BYTE = 8;

/** systemd that knows `CPUQuotaPeriodUSec`, and that knows `AllowedCPUs`. */
const PERIOD_SINCE = 242;
const CPUSET_SINCE = 244;

/** The unit behind a path of slices: its last part. */
export function unitOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Properties of a new slice: accounting, so that systemd delegates the controllers, and `Wants` for the
 * slice above it. Source: opencontainers/cgroups systemd Apply.
 */
export function startProperties(path: string, shape: CgroupShape): readonly UnitProperty[] {
  const above = path.slice(0, path.lastIndexOf("/"));
  const parent = above === "" ? ROOT_SLICE : unitOf(above);
  const accounting = shape.version === 2 ? "IOAccounting" : "BlockIOAccounting";
  return [
    { name: "Description", type: "s", value: `cgroup ${unitOf(path)}` },
    { name: "Wants", type: "as", value: [parent] },
    ...["MemoryAccounting", "CPUAccounting", accounting, "TasksAccounting"].map(
      (name): UnitProperty => ({ name, type: "b", value: true }),
    ),
    { name: "DefaultDependencies", type: "b", value: false },
  ];
}

/** v2 files that are one number, with the property that sets them. */
const NUMBERS_V2: Readonly<Record<string, string>> = {
  "cpu.weight": "CPUWeight",
  "memory.min": "MemoryMin",
  "memory.low": "MemoryLow",
  "memory.high": "MemoryHigh",
  "memory.max": "MemoryMax",
  "memory.swap.max": "MemorySwapMax",
  "pids.max": "TasksMax",
};

const NUMBERS_V1: Readonly<Record<string, string>> = {
  "cpu.shares": "CPUShares",
  "memory.limit_in_bytes": "MemoryLimit",
  "pids.max": "TasksMax",
};

/**
 * The properties that give systemd the values of `writes`, so that it does not undo them. Files without
 * a property (huge pages) are left out. Source: opencontainers/cgroups systemd genV1/genV2ResourcesProperties.
 */
export function unitProperties(
  shape: CgroupShape,
  writes: readonly CgroupWrite[],
  systemdVersion: number,
): readonly UnitProperty[] {
  const values = new Map(writes.map(({ file, value }) => [file, value]));
  const properties: UnitProperty[] = [];
  const numbers = shape.version === 2 ? NUMBERS_V2 : NUMBERS_V1;
  for (const [file, name] of Object.entries(numbers)) {
    const value = values.get(file);
    if (value !== undefined) properties.push({ name, type: "t", value: numberOf(value) });
  }
  const cpu = cpuTime(shape, values);
  if (cpu !== undefined && systemdVersion >= PERIOD_SINCE) {
    properties.push({ name: "CPUQuotaPeriodUSec", type: "t", value: cpu.periodUs });
  }
  if (cpu !== undefined) {
    properties.push({ name: "CPUQuotaPerSecUSec", type: "t", value: perSecond(cpu) });
  }
  const cpus = values.get("cpuset.cpus");
  if (cpus !== undefined && systemdVersion >= CPUSET_SINCE) {
    properties.push({ name: "AllowedCPUs", type: "ay", value: cpuBits(cpus) });
  }
  return properties;
}

function numberOf(value: string): bigint {
  return value === "max" || value.startsWith("-") ? INFINITY : BigInt(value);
}

interface CpuTime {
  /** Absent is no limit. */
  readonly quotaUs: bigint | undefined;
  readonly periodUs: bigint;
}

function cpuTime(shape: CgroupShape, values: ReadonlyMap<string, string>): CpuTime | undefined {
  const [quota, period] =
    shape.version === 2
      ? (values.get("cpu.max") ?? "").split(" ")
      : [values.get("cpu.cfs_quota_us"), values.get("cpu.cfs_period_us")];
  if (!quota && !period) return undefined;
  const quotaUs = quota ? numberOf(quota) : INFINITY;
  return {
    quotaUs: quotaUs === INFINITY ? undefined : quotaUs,
    periodUs: period ? BigInt(period) : DEFAULT_PERIOD_US,
  };
}

/** The plan has rounded the quota to whole percents of a CPU already; what is left is rounded up. */
function perSecond({ quotaUs, periodUs }: CpuTime): bigint {
  if (quotaUs === undefined) return INFINITY;
  const step = 10_000n;
  const exact = (quotaUs * MICROS_PER_SECOND) / periodUs;
  return ((exact + step - 1n) / step) * step;
}

/** A list such as `0-3,8` as systemd's bit mask, lowest CPU first. */
export function cpuBits(list: string): readonly number[] {
  const bytes: number[] = [];
  for (const part of list.split(",")) {
    const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(part.trim()) ?? [];
    if (first === undefined) continue;
    for (let cpu = Number(first); cpu <= Number(last ?? first); cpu += 1) {
      const at = Math.floor(cpu / CPUS_PER_BYTE);
      while (bytes.length <= at) bytes.push(0);
      bytes[at] = (bytes[at] ?? 0) | (1 << (cpu % CPUS_PER_BYTE));
    }
  }
  return bytes;
}

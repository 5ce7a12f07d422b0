// pure
import type { CgroupVersion } from "../../outside/host/host.ts";
import { DEFAULT_PERIOD_US, kernelBytes, sharesToWeight } from "./convert.ts";

/** One value for one of the kernel's files. */
export interface CgroupWrite {
  readonly file: string;
  readonly value: string;
  /** A file that not every kernel has; where it is missing there is nothing to do. */
  readonly optional?: true;
  /**
   * A limit on what is in use already. `always`: never set below the usage in `file` (v2 would kill at
   * once); `refused`: set to the usage when the kernel refuses the value (v1).
   */
  readonly usage?: { readonly file: string; readonly raise: "always" | "refused" };
  /**
   * The value is what the kernel shows for a group that the agent created; it is not written, so that a limit which
   * an administrator has set stays. It still counts as a difference.
   */
  readonly asFound?: true;
}

/** Desired values of one group, by the kernel's file names. */
export interface CgroupPlan {
  readonly path: string;
  readonly kind: "node" | "tier" | "pod" | "reserved";
  /** Make the group when it is missing; otherwise it must be there. */
  readonly create: boolean;
  readonly writes: readonly CgroupWrite[];
}

/** Limits of one group, independent of the cgroup version. What is absent or 0 is left as it is. */
export interface CgroupResources {
  readonly cpuShares?: number;
  /** Microseconds per period; negative is no limit. */
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  /** CPUs as the kernel lists them, e.g. `0-3`; only on v2. */
  readonly cpus?: string;
  /** Negative is no limit. */
  readonly memoryBytes?: number;
  /** How `memoryBytes` relates to what is in use. */
  readonly memoryMayBeInUse?: boolean;
  /** Negative is no limit. */
  readonly pids?: number;
  /** Bytes by page size (`2MB`); here 0 is a limit. */
  readonly hugepages?: Readonly<Record<string, bigint>>;
  /** Files of v2 and their values, written as they are. */
  readonly unified?: Readonly<Record<string, string>>;
}

/** Facts about the machine's cgroups that plans depend on. */
export interface CgroupShape {
  readonly version: CgroupVersion;
  readonly controllers: ReadonlySet<string>;
}

/** The writes that set `resources`, for the controllers the machine has. */
export function planWrites(shape: CgroupShape, resources: CgroupResources): readonly CgroupWrite[] {
  const writes = shape.version === 1 ? writesV1(resources) : writesV2(resources);
  return writes.filter(({ file }) => shape.controllers.has(file.slice(0, file.indexOf("."))));
}

function writesV1(resources: CgroupResources): CgroupWrite[] {
  const { cpuShares, cpuPeriodUs, cpuQuotaUs, memoryBytes, pids } = resources;
  const writes: CgroupWrite[] = [];
  if (cpuShares) writes.push({ file: "cpu.shares", value: String(cpuShares) });
  if (cpuPeriodUs) writes.push({ file: "cpu.cfs_period_us", value: String(cpuPeriodUs) });
  if (cpuQuotaUs) {
    writes.push({ file: "cpu.cfs_quota_us", value: String(cpuQuotaUs < 0 ? -1 : cpuQuotaUs) });
  }
  if (memoryBytes) {
    const write = {
      file: "memory.limit_in_bytes",
      value: String(memoryBytes < 0 ? -1 : kernelBytes(memoryBytes)),
    };
    const usage = { file: "memory.usage_in_bytes", raise: "refused" } as const;
    writes.push(resources.memoryMayBeInUse ? { ...write, usage } : write);
  }
  if (pids) writes.push({ file: "pids.max", value: maxOr(pids) });
  for (const [size, bytes] of Object.entries(resources.hugepages ?? {})) {
    for (const name of ["limit_in_bytes", "rsvd.limit_in_bytes"]) {
      writes.push({ file: `hugetlb.${size}.${name}`, value: String(bytes), optional: true });
    }
  }
  return writes;
}

function writesV2(resources: CgroupResources): CgroupWrite[] {
  const { cpuShares, cpuPeriodUs, cpuQuotaUs, memoryBytes, pids } = resources;
  const writes: CgroupWrite[] = [];
  if (cpuShares) writes.push({ file: "cpu.weight", value: String(sharesToWeight(cpuShares)) });
  if (cpuQuotaUs || cpuPeriodUs) {
    const quota = cpuQuotaUs && cpuQuotaUs > 0 ? String(cpuQuotaUs) : "max";
    writes.push({ file: "cpu.max", value: `${quota} ${cpuPeriodUs || DEFAULT_PERIOD_US}` });
  }
  if (resources.cpus) writes.push({ file: "cpuset.cpus", value: resources.cpus });
  if (memoryBytes) {
    const write = {
      file: "memory.max",
      value: memoryBytes < 0 ? "max" : String(kernelBytes(memoryBytes)),
    };
    const usage = { file: "memory.current", raise: "always" } as const;
    writes.push(resources.memoryMayBeInUse ? { ...write, usage } : write);
  }
  if (pids) writes.push({ file: "pids.max", value: maxOr(pids) });
  for (const [size, bytes] of Object.entries(resources.hugepages ?? {})) {
    for (const name of ["max", "rsvd.max"]) {
      writes.push({ file: `hugetlb.${size}.${name}`, value: String(bytes), optional: true });
    }
  }
  for (const [file, value] of Object.entries(resources.unified ?? {})) {
    writes.push({ file, value });
  }
  return writes;
}

/** Values that mean "no limit", by the file that would hold one. */
const FREE: Readonly<Record<CgroupVersion, Readonly<Record<string, string>>>> = {
  1: {
    "cpu.cfs_period_us": String(DEFAULT_PERIOD_US),
    "cpu.cfs_quota_us": "-1",
    "memory.limit_in_bytes": "-1",
    "pids.max": "max",
  },
  2: { "cpu.max": `max ${DEFAULT_PERIOD_US}`, "memory.max": "max", "pids.max": "max" },
};

/** `writes` with what `controllers` show where these say nothing: no limit. */
export function withFreeValues(
  shape: CgroupShape,
  writes: readonly CgroupWrite[],
  controllers: readonly string[],
): readonly CgroupWrite[] {
  const written = new Set(writes.map(({ file }) => file));
  const free = Object.entries(FREE[shape.version]).flatMap(([file, value]): CgroupWrite[] => {
    const controller = file.slice(0, file.indexOf("."));
    const isOpen = !written.has(file) && shape.controllers.has(controller);
    return isOpen && controllers.includes(controller) ? [{ file, value, asFound: true }] : [];
  });
  return [...writes, ...free];
}

function maxOr(value: number): string {
  return value < 0 ? "max" : String(value);
}

// pure
import type { OutsideCode } from "../../src/kit/errors.ts";
import type { CgroupVersion } from "../../src/outside/host/host.ts";

const PAGE_BYTES = 4096n;
const V1_UNLIMITED = 9_223_372_036_854_771_712n;
const HUGE_BYTES = 2n ** 21n;

/** Files of a fresh group by version and controller, as the kernel shows them. */
const FILES: Readonly<Record<CgroupVersion, Readonly<Record<string, Record<string, string>>>>> = {
  1: {
    cpu: { "cpu.shares": "1024", "cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "-1" },
    cpuacct: { "cpuacct.usage": "0" },
    cpuset: { "cpuset.cpus": "0-1", "cpuset.mems": "0" },
    memory: {
      "memory.limit_in_bytes": String(V1_UNLIMITED),
      "memory.memsw.limit_in_bytes": String(V1_UNLIMITED),
      "memory.usage_in_bytes": "0",
    },
    pids: { "pids.max": "max", "pids.current": "0" },
    hugetlb: { "hugetlb.2MB.limit_in_bytes": "9223372036852678656" },
  },
  2: {
    cpu: { "cpu.weight": "100", "cpu.max": "max 100000" },
    cpuset: { "cpuset.cpus": "", "cpuset.mems": "" },
    memory: {
      "memory.max": "max",
      "memory.high": "max",
      "memory.min": "0",
      "memory.low": "0",
      "memory.current": "0",
      "memory.oom.group": "0",
      "memory.swap.max": "max",
    },
    pids: { "pids.max": "max", "pids.current": "0" },
    hugetlb: { "hugetlb.2MB.max": "max", "hugetlb.2MB.rsvd.max": "max" },
  },
};

/** Files that the root has too; limits on the whole machine do not exist. */
const ROOT_FILES: ReadonlySet<string> = new Set([
  "cpu.shares",
  "cpuset.cpus",
  "cpuset.mems",
  "memory.usage_in_bytes",
  "memory.limit_in_bytes",
  "memory.memsw.limit_in_bytes",
]);

/** The files of a new group. */
export function defaultFiles(
  version: CgroupVersion,
  controllers: ReadonlySet<string>,
  isRoot: boolean,
): Map<string, string> {
  const files = new Map<string, string>();
  for (const controller of controllers) {
    for (const [file, value] of Object.entries(FILES[version][controller] ?? {})) {
      if (!isRoot || ROOT_FILES.has(file)) files.set(file, value);
    }
  }
  if (version === 2) {
    files.set("cgroup.controllers", [...controllers].join(" "));
    files.set("cgroup.subtree_control", [...controllers].join(" "));
    if (!isRoot) files.set("cgroup.type", "domain");
  }
  return files;
}

/** Takes a write as the kernel would: spells the value its way, or answers why not. */
export function normalWrite(
  version: CgroupVersion,
  files: Map<string, string>,
  write: { readonly file: string; readonly value: string },
): OutsideCode | undefined {
  const spelled = spell(version, files, write.file, write.value.trim());
  if (typeof spelled !== "string") return spelled.fault;
  files.set(write.file, spelled);
  return undefined;
}

type Spelled = string | { readonly fault: OutsideCode };

const INVALID: Spelled = { fault: "invalid" };

function spell(
  version: CgroupVersion,
  files: ReadonlyMap<string, string>,
  file: string,
  value: string,
): Spelled {
  if (file === "cpu.max") return spellCpuMax(files.get(file) ?? "", value);
  if (file === "pids.max" && value === "max") return value;
  if (file.startsWith("cpuset.")) return value;
  if (value === "max" && version === 2) return isLimit(file) ? value : INVALID;
  if (!/^-?\d+$/.test(value)) return INVALID;
  const number = BigInt(value);
  if (file === "cpu.shares") return inRange(clamp(number, 2n, 262_144n), 2n, 262_144n);
  if (file === "cpu.weight") return inRange(number, 1n, 10_000n);
  if (file === "cpu.cfs_period_us") return inRange(number, 1000n, 1_000_000n);
  if (file === "cpu.cfs_quota_us") return number < 0n ? "-1" : inRange(number, 1000n, 2n ** 44n);
  if (file === "pids.max") return inRange(number, 0n, 4_194_304n);
  if (file === "memory.oom.group") return inRange(number, 0n, 1n);
  if (file === "memory.limit_in_bytes") return spellV1Limit(files, number);
  if (file.startsWith("memory.")) return number < 0n ? INVALID : whole(number, PAGE_BYTES);
  if (file.startsWith("hugetlb.")) return number < 0n ? INVALID : whole(number, HUGE_BYTES);
  return { fault: "denied" };
}

function isLimit(file: string): boolean {
  return /^(memory\.(max|high|min|low|swap\.max)|hugetlb\..*max)$/.test(file);
}

/** v1 refuses a limit below what is in use. */
function spellV1Limit(files: ReadonlyMap<string, string>, bytes: bigint): Spelled {
  const usage = BigInt(files.get("memory.usage_in_bytes") ?? "0");
  if (bytes === -1n) return String(V1_UNLIMITED);
  if (bytes < 0n) return INVALID;
  const limit = clamp((bytes / PAGE_BYTES) * PAGE_BYTES, 0n, V1_UNLIMITED);
  return limit < usage ? { fault: "precondition" } : String(limit);
}

function spellCpuMax(present: string, value: string): Spelled {
  const [quota = "", period = present.split(" ")[1] ?? "100000"] = value.split(/\s+/);
  const isPeriod = /^\d+$/.test(period) && Number(period) >= 1000 && Number(period) <= 1_000_000;
  const isQuota = quota === "max" || (/^\d+$/.test(quota) && Number(quota) >= 1000);
  return isPeriod && isQuota ? `${quota} ${period}` : INVALID;
}

function inRange(value: bigint, least: bigint, most: bigint): Spelled {
  return value < least || value > most ? INVALID : String(value);
}

function clamp(value: bigint, least: bigint, most: bigint): bigint {
  if (value < least) return least;
  return value > most ? most : value;
}

function whole(bytes: bigint, unit: bigint): string {
  return String((bytes / unit) * unit);
}

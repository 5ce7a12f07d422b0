// What systemd makes of a unit's resource properties in the kernel's files (systemd.resource-control(5)).

/** Properties of a unit by name. */
export type Properties = ReadonlyMap<string, unknown>;

/** "No limit" of every number that systemd keeps. */
const INFINITY = 2n ** 64n - 1n;
const DEFAULT_PERIOD_US = 100_000n;

/** D-Bus types of the properties that are known, as far as the agent may send them. */
export const PROPERTY_TYPES: Readonly<Record<string, string>> = {
  Description: "s",
  Wants: "as",
  Slice: "s",
  DefaultDependencies: "b",
  Delegate: "b",
  CPUAccounting: "b",
  MemoryAccounting: "b",
  TasksAccounting: "b",
  IOAccounting: "b",
  BlockIOAccounting: "b",
  CPUWeight: "t",
  CPUShares: "t",
  CPUQuotaPerSecUSec: "t",
  CPUQuotaPeriodUSec: "t",
  MemoryMin: "t",
  MemoryLow: "t",
  MemoryHigh: "t",
  MemoryMax: "t",
  MemoryLimit: "t",
  MemorySwapMax: "t",
  TasksMax: "t",
};

const limit = (value: unknown): string => (value === INFINITY ? "max" : String(value));

/** Files and values of a cgroup v2 group. */
export function filesV2(properties: Properties): readonly (readonly [string, string])[] {
  const files: [string, string][] = [];
  const put = (property: string, file: string) => {
    const value = properties.get(property);
    if (value !== undefined) files.push([file, limit(value)]);
  };
  put("CPUWeight", "cpu.weight");
  const quota = quotaOf(properties);
  if (quota) files.push(["cpu.max", `${quota.us ?? "max"} ${quota.periodUs}`]);
  put("MemoryMin", "memory.min");
  put("MemoryLow", "memory.low");
  put("MemoryHigh", "memory.high");
  put("MemoryMax", "memory.max");
  put("MemorySwapMax", "memory.swap.max");
  put("TasksMax", "pids.max");
  return files;
}

/** Files and values of a cgroup v1 group. */
export function filesV1(properties: Properties): readonly (readonly [string, string])[] {
  const files: [string, string][] = [];
  const shares = properties.get("CPUShares");
  if (shares !== undefined) files.push(["cpu.shares", String(shares)]);
  const quota = quotaOf(properties);
  if (quota) {
    files.push(["cpu.cfs_period_us", String(quota.periodUs)]);
    files.push(["cpu.cfs_quota_us", String(quota.us ?? -1)]);
  }
  const memory = properties.get("MemoryLimit") ?? properties.get("MemoryMax");
  if (memory !== undefined) {
    files.push(["memory.limit_in_bytes", memory === INFINITY ? "-1" : String(memory)]);
  }
  const tasks = properties.get("TasksMax");
  if (tasks !== undefined) files.push(["pids.max", limit(tasks)]);
  return files;
}

/** systemd keeps whole percents of a CPU, rounded down. */
function quotaOf(
  properties: Properties,
): { readonly us: bigint | undefined; readonly periodUs: bigint } | undefined {
  const perSecond = properties.get("CPUQuotaPerSecUSec");
  if (typeof perSecond !== "bigint") return undefined;
  const wanted = properties.get("CPUQuotaPeriodUSec");
  const periodUs = typeof wanted === "bigint" && wanted !== INFINITY ? wanted : DEFAULT_PERIOD_US;
  if (perSecond === INFINITY) return { us: undefined, periodUs };
  const percent = perSecond / 10_000n;
  return { us: (percent * 10_000n * periodUs) / 1_000_000n, periodUs };
}

/** The folder of a slice: every name on the way is a prefix of the next. */
export function slicePath(unit: string): string {
  const parts = unit.replace(/\.slice$/, "").split("-");
  return parts.map((_, i) => `/${parts.slice(0, i + 1).join("-")}.slice`).join("");
}

// pure
import { parseCpuList } from "../../config/cpu-list.ts";

/** Smallest value that v1 shows for a memory limit that is none, whatever the page size. */
const V1_UNLIMITED = 2n ** 63n - 2n ** 17n;

/** Page sizes of the architectures; a limit is kept in whole pages. */
const PAGE_BYTES = [4096n, 16_384n, 65_536n] as const;

const HUGEPAGE_UNITS: Readonly<Record<string, bigint>> = {
  KB: 2n ** 10n,
  MB: 2n ** 20n,
  GB: 2n ** 30n,
};

const CPU_SHARES = { least: 2n, most: 262_144n } as const;

/**
 * Whether a control file that reads `read` already holds `wanted`, as the kernel would spell it: limits
 * in whole pages, shares within bounds, "no limit" in its several forms.
 */
export function isSameValue(file: string, read: string, wanted: string): boolean {
  const left = read.trim();
  const right = wanted.trim();
  if (left === right) return true;
  if (file === "cpu.max") return isSameCpuMax(left, right);
  if (file === "cpuset.cpus") return isSameCpuList(left, right);
  const has = readNumber(left);
  const expected = readNumber(right);
  if (has === undefined || expected === undefined) return false;
  if (file === "cpu.shares") return has === clampShares(expected);
  if (file === "cpu.cfs_quota_us") return has < 0n && expected < 0n;
  if (file.startsWith("memory.")) return isSameBytes(has, expected, PAGE_BYTES);
  if (file.startsWith("hugetlb.")) return isSameBytes(has, expected, [hugepageBytes(file)]);
  return has === expected;
}

/** The kernel's value for "no limit" in v1 memory files: the most whole pages of 63 bits. */
const V1_MOST = 2n ** 63n - 1n;

/** How the kernel shows `value` after it was written to `file`. */
export function shownValue(file: string, value: string, pageBytes: number): string {
  if (!/^-?\d+$/.test(value)) return value;
  const number = BigInt(value);
  const whole = (bytes: bigint, page: bigint) => String((bytes / page) * page);
  if (file.startsWith("memory.") && file !== "memory.oom.group") {
    return whole(number < 0n ? V1_MOST : number, BigInt(pageBytes));
  }
  if (file.startsWith("hugetlb.")) return whole(number, hugepageBytes(file));
  return value;
}

/** A number or `max`; `max` and what stands for it count as the largest there is. */
function readNumber(text: string): bigint | undefined {
  if (text === "max") return V1_UNLIMITED;
  return /^-?\d+$/.test(text) ? BigInt(text) : undefined;
}

function isSameBytes(has: bigint, expected: bigint, pages: readonly bigint[]): boolean {
  const isUnlimited = (bytes: bigint) => bytes < 0n || bytes >= V1_UNLIMITED;
  if (isUnlimited(has) || isUnlimited(expected)) return isUnlimited(has) && isUnlimited(expected);
  return pages.some((page) => (expected / page) * page === has);
}

function clampShares(shares: bigint): bigint {
  if (shares < CPU_SHARES.least) return CPU_SHARES.least;
  return shares > CPU_SHARES.most ? CPU_SHARES.most : shares;
}

/** The kernel joins neighbours to ranges and sorts. */
function isSameCpuList(read: string, wanted: string): boolean {
  const has = parseCpuList(read);
  const expected = parseCpuList(wanted);
  return has.ok && expected.ok && has.cpus.join() === expected.cpus.join();
}

/** The kernel keeps the period when none is written. */
function isSameCpuMax(read: string, wanted: string): boolean {
  const [quota, period] = read.split(/\s+/);
  const [wantedQuota, wantedPeriod = period] = wanted.split(/\s+/);
  return quota === wantedQuota && period === wantedPeriod;
}

function hugepageBytes(file: string): bigint {
  const [, count, unit] = /^hugetlb\.(\d+)(KB|MB|GB)\./.exec(file) ?? [];
  return BigInt(count ?? 1) * (HUGEPAGE_UNITS[unit ?? ""] ?? 1n);
}

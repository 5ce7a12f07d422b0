// pure
import { quotaMicros } from "../../kit/timing/bounded-durations.ts";

/** Least shares the kernel takes; what a container without any CPU request gets. */
export const MIN_SHARES = 2;

/** Most shares the kernel takes. */
const MAX_SHARES = 262_144;

/** Least CPU quota the kernel takes, in microseconds. */
const MIN_QUOTA_US = 1000;

/** The kernel's own CPU period, in microseconds. */
export const DEFAULT_PERIOD_US = 100_000;

const SHARES_PER_CPU = 1024;
const MILLI_PER_CPU = 1000;
const MIN_WEIGHT = 1;
const MAX_WEIGHT = 10_000;

/** systemd counts CPU quota in whole percents of a CPU: 10 ms of each second. */
const SYSTEMD_QUOTA_STEP_US = 10_000;

/** The largest amount of bytes of Kubernetes and the kernel: 2^63 - 1. */
const MOST_BYTES = 9_223_372_036_854_775_807n;

/**
 * Bytes for kernel and runtime. Amounts are clamped to what a number holds exactly; the largest one stands for all
 * that is more, of which a limit is the most there can be, as the Go kubelet makes 2^63 - 1 of `9Ei`.
 */
export const kernelBytes = (bytes: number): bigint =>
  bytes >= Number.MAX_SAFE_INTEGER ? MOST_BYTES : BigInt(bytes);

/** Milli-CPU as v1 shares, 2..262144. Source: kubelet cm.MilliCPUToShares. */
export function milliCpuToShares(milliCpu: number): number {
  const shares = Math.floor((milliCpu * SHARES_PER_CPU) / MILLI_PER_CPU);
  return Math.min(Math.max(shares, MIN_SHARES), MAX_SHARES);
}

/**
 * Milli-CPU as microseconds of CPU time per period, at least 1000; 0 means "not set".
 * Source: kubelet cm.MilliCPUToQuota.
 */
export function milliCpuToQuota(milliCpu: number, periodUs: number): number {
  if (milliCpu === 0) return 0;
  return Math.max(quotaMicros((milliCpu * periodUs) / MILLI_PER_CPU), MIN_QUOTA_US);
}

/**
 * Shares as the v2 weight (1..10000) that the kubelet writes to its own groups: a straight line through
 * (2, 1) and (262144, 10000). Shares 0 ("not set") stay 0.
 */
export function sharesToWeight(shares: number): number {
  if (shares === 0) return 0;
  if (shares >= MAX_SHARES) return MAX_WEIGHT;
  const steps = Math.max(shares, MIN_SHARES) - MIN_SHARES;
  return MIN_WEIGHT + Math.floor((steps * (MAX_WEIGHT - MIN_WEIGHT)) / (MAX_SHARES - MIN_SHARES));
}

/**
 * Shares as the v2 weight that newer runtimes write to containers (runc since 1.3.2, crun since 1.23):
 * a curve on which one CPU is the kernel's default of 100. Source: opencontainers/cgroups.
 */
export function sharesToRuntimeWeight(shares: number): number {
  if (shares === 0) return 0;
  if (shares <= MIN_SHARES) return MIN_WEIGHT;
  if (shares >= MAX_SHARES) return MAX_WEIGHT;
  const log = Math.log2(shares);
  return Math.ceil(10 ** ((log * log + 125 * log) / 612 - 7 / 34));
}

/** Shares from a weight that the kubelet wrote; loses what the weight has lost. */
export function weightToShares(weight: number): number {
  const steps = (weight - MIN_WEIGHT) * (MAX_SHARES - MIN_SHARES);
  return Math.floor(steps / (MAX_WEIGHT - MIN_WEIGHT)) + MIN_SHARES;
}

/** Milli-CPU from shares, 0 below the least shares. */
export function sharesToMilliCpu(shares: number): number {
  return shares < MIN_SHARES ? 0 : Math.ceil((shares * MILLI_PER_CPU) / SHARES_PER_CPU);
}

/** Milli-CPU from quota and period; no quota (-1) is 0. */
export function quotaToMilliCpu(quotaUs: number, periodUs: number): number {
  return quotaUs === -1 ? 0 : Math.floor((quotaUs * MILLI_PER_CPU) / periodUs);
}

/** A CPU quota as systemd keeps it: rounded up to whole percents of a CPU. */
interface SystemdQuota {
  /** Value of the unit's `CPUQuotaPerSecUSec`. */
  readonly perSecondUs: number;
  /** The quota per period that follows from it. */
  readonly quotaUs: number;
}

/** Rounding of a positive quota under the systemd driver. */
export function systemdQuota(quotaUs: number, periodUs: number): SystemdQuota {
  const exact = Math.floor((quotaUs * 1_000_000) / periodUs);
  const perSecondUs = Math.ceil(exact / SYSTEMD_QUOTA_STEP_US) * SYSTEMD_QUOTA_STEP_US;
  return { perSecondUs, quotaUs: Math.floor((perSecondUs * periodUs) / 1_000_000) };
}

// pure
/**
 * Durations as they leave the process, each in its own form and with its own bound: what pods and configurations may
 * ask for is longer than a timer, a gRPC header, a Go program or the kernel can hold. Longer ones become the longest.
 */

/** Node's timers cannot hold more than this, and fire at once instead. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Whole milliseconds for a timer of Node's; rounded up, since a timer that is early is asked again. */
export function timerMs(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), LONGEST_TIMER_MS);
}

/** `grpc-timeout` has at most eight digits. */
const MAX_TIMEOUT_DIGITS = 99_999_999;

/** The units of `grpc-timeout`, shortest first. */
const TIMEOUT_UNITS: readonly (readonly [name: string, ms: number])[] = [
  ["m", 1],
  ["S", 1000],
  ["M", 60_000],
  ["H", 3_600_000],
];

/** The value of `grpc-timeout`, rounded up to the shortest unit in which it fits (gRPC over HTTP2, "Requests"). */
export function grpcTimeout(ms: number): string {
  for (const [name, unitMs] of TIMEOUT_UNITS) {
    const count = Math.max(1, Math.ceil(ms / unitMs));
    if (count <= MAX_TIMEOUT_DIGITS) return `${count}${name}`;
  }
  return `${MAX_TIMEOUT_DIGITS}H`;
}

/**
 * A century. Runtimes in Go count in nanoseconds of 64 bits, which end at 292 years, and add a deadline to the time of day: a
 * longer grace would turn negative there and kill at once.
 */
const LONGEST_WIRE_SECONDS = 100 * 365 * 24 * 3600;

/** Whole seconds for a message to the runtime. */
export function wireSeconds(seconds: number): bigint {
  return BigInt(Math.min(Math.max(Math.ceil(seconds), 0), LONGEST_WIRE_SECONDS));
}

/** Half of the largest quota that the kernel takes (2^44 - 1 µs, kernel/sched/core.c), so that it may be rounded up afterwards. */
const LONGEST_QUOTA_US = 2 ** 43;

/** Microseconds of a CPU quota for a file of a cgroup; longer than all CPUs of any machine have in a period. */
export function quotaMicros(us: number): number {
  return Math.min(Math.floor(us), LONGEST_QUOTA_US);
}

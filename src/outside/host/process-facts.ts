/** One process as the kernel shows it in /proc. */
export interface ProcessFacts {
  readonly pid: number;
  readonly parentPid: number;
  /** Name of the program, at most 15 bytes. */
  readonly name: string;
  /** The process that began its session. */
  readonly sessionId: number;
  /** The kernel's letter: R, S, D, T, Z, X … */
  readonly state: string;
  /** A thread of the kernel itself, without a program. */
  readonly isKernelThread: boolean;
  /** Clock ticks since boot; with the pid it distinguishes processes that share a number. */
  readonly startTicks: number;
  /** Path of its group by controller (v1, named hierarchies as `name=…`), under `""` on v2. */
  readonly cgroups: Readonly<Record<string, string>>;
}

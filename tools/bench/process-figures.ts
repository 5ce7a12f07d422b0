import { readdirSync, readFileSync } from "node:fs";

/** What the kernel says of a process and of the children it has at one moment. */
export interface ProcessFigures {
  /** CPU time of all threads, and of the children it waited for. */
  readonly cpuMs: number;
  /** Resident memory of the process, and what its children have beside it that they share with nobody. */
  readonly rssMib: number;
  readonly anonymousMib: number;
  /** How often a thread of them gave up its CPU to wait for something, since the threads that live were started. */
  readonly wakings: number;
}

/** Unit of times in /proc/<pid>/stat; the same on every Linux since 2.6. */
const TICK_MS = 10;

/** Reads the figures of a process of this machine and of its children; throws when it is gone. */
export function processFigures(pid: number): ProcessFigures {
  const { cpuMs, rssMib, anonymousMib, wakings } = figuresOf(pid);
  const children = childrenOf(pid).flatMap((child) => {
    try {
      return [figuresOf(child)];
    } catch {
      // It ended meanwhile.
      return [];
    }
  });
  return {
    cpuMs: cpuMs + sum(children.map((child) => child.cpuMs)),
    rssMib: rssMib + sum(children.map((child) => child.privateMib)),
    anonymousMib: anonymousMib + sum(children.map((child) => child.anonymousMib)),
    wakings: wakings + sum(children.map((child) => child.wakings)),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Children of a process and their children. */
function childrenOf(pid: number): readonly number[] {
  const own = readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      const text = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
      return text.split(" ").filter(Boolean).map(Number);
    } catch {
      return [];
    }
  });
  return own.flatMap((child) => [child, ...childrenOrNone(child)]);
}

function childrenOrNone(pid: number): readonly number[] {
  try {
    return childrenOf(pid);
  } catch {
    return [];
  }
}

function figuresOf(pid: number): ProcessFigures & { readonly privateMib: number } {
  const ticks = cpuTicksOf(readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The first counts threads that ended, the second is exact to the nanosecond.
  const own = Math.max(ticks.own * TICK_MS, threadsMs(pid));
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const wakings = sumOfThreads(pid, "status", wakingsOf);
  return { cpuMs: own + ticks.children * TICK_MS, ...memoryOf(rollup), wakings };
}

/** What the threads that live have used; 0 where the kernel does not keep it. */
function threadsMs(pid: number): number {
  return sumOfThreads(pid, "schedstat", (text) => Number(text.split(" ")[0]) / 1e6);
}

/** The sum of a number that each thread has in a file of its own. */
function sumOfThreads(pid: number, file: string, read: (text: string) => number): number {
  let total = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      total += read(readFileSync(`/proc/${pid}/task/${thread}/${file}`, "utf8"));
    } catch {
      // It ended meanwhile.
    }
  }
  return total;
}

/** Voluntary context switches from the text of /proc/<pid>/status; 0 where the kernel does not count them. */
export function wakingsOf(status: string): number {
  return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
}

/** Ticks from utime and stime, and from cutime and cstime; the name before them may hold blanks and brackets. */
export function cpuTicksOf(stat: string): { readonly own: number; readonly children: number } {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system, childUser, childSystem] = fields.slice(11, 15).map(Number);
  const own = (user ?? Number.NaN) + (system ?? Number.NaN);
  const children = (childUser ?? Number.NaN) + (childSystem ?? Number.NaN);
  if (Number.isNaN(own + children)) throw new Error(`not a stat line: ${stat}`);
  return { own, children };
}

/** Resident, private and anonymous memory from the text of smaps_rollup. */
export function memoryOf(rollup: string): {
  rssMib: number;
  privateMib: number;
  anonymousMib: number;
} {
  return {
    rssMib: mib(rollup, "Rss"),
    privateMib: mib(rollup, "Private_Clean") + mib(rollup, "Private_Dirty"),
    anonymousMib: mib(rollup, "Anonymous"),
  };
}

function mib(rollup: string, name: string): number {
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(rollup)?.[1];
  if (kib === undefined) throw new Error(`smaps_rollup has no ${name}`);
  return Number(kib) / 1024;
}

/** CPU time that all processes of the machine have used since it started. */
export function machineCpuMs(): number {
  return busyTicksOf(readFileSync("/proc/stat", "utf8")) * TICK_MS;
}

/** user, nice, system, irq, softirq and steal of the machine; guests are in user already. */
export function busyTicksOf(stat: string): number {
  const line = /^cpu +(.*)$/m.exec(stat)?.[1];
  const [user, nice, system, , , irq, softirq, steal] = (line ?? "").split(" ").map(Number);
  const parts = [user, nice, system, irq, softirq, steal].map((part) => part ?? Number.NaN);
  const busy = parts.reduce((sum, part) => sum + part, 0);
  if (Number.isNaN(busy)) throw new Error("/proc/stat is not as expected");
  return busy;
}

import { readdirSync, readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import {
  createHeapCompaction,
  createMallocTrim,
  createProgramPageRelease,
  letGarbageGather,
} from "../memory/memory.ts";

/** Resource usage of this process, as in Prometheus' process metrics. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly virtualBytes: number;
  /** Unix seconds. */
  readonly startTimeSeconds: number;
  readonly openFiles: number;
  readonly maxFiles: number;
  /** Memory the JavaScript heap has reserved. */
  readonly heapTotalBytes: number;
  /** Used JavaScript heap, including garbage not collected yet. */
  readonly heapUsedBytes: number;
  /** Memory outside the heap that its objects keep: buffers and native state. */
  readonly externalBytes: number;
  readonly threads: number;
  /** Asynchronous operations under way that keep the process running. */
  readonly activeResources: number;
}

/** What this process has of memory, as far as it may run out of it. */
export interface OwnMemory {
  readonly residentBytes: number;
  /** Memory the JavaScript heap has reserved. */
  readonly heapTotalBytes: number;
  /** Used JavaScript heap, including garbage not collected yet. */
  readonly heapUsedBytes: number;
  /** With a heap of this size the engine ends the process. */
  readonly heapLimitBytes: number;
}

/** How long turns of the event loop took, while everything else waited, within the last one to two minutes. */
export interface LoopDelay {
  readonly p50Seconds: number;
  readonly p99Seconds: number;
  readonly maxSeconds: number;
}

/** This process, seen from itself. */
export interface OwnProcess {
  /** Runtime and its version, e.g. `node v26.10.0`. */
  readonly engine: string;
  readonly commandLine: readonly string[];
  usage(): ProcessUsage;
  /** Cheaper than `usage`. */
  memory(): OwnMemory;
  /**
   * Gives back the resident pages of Node's program, which come back from its file one by one as they are used. Takes some
   * milliseconds. `false` where Node cannot do it.
   */
  releaseProgramPages(): boolean;
  /** Gives back what malloc holds free. Takes some milliseconds. `false` where Node cannot do it. */
  trimMalloc(): boolean;
  /**
   * Collects the heap and gives back what is free of it. Takes some 100 ms, during which nothing else runs. `false` where
   * V8 cannot be asked for it.
   */
  compactHeap(): boolean;
  /** Ends a start in which V8 puts memory before speed. */
  letGarbageGather(): void;
  /** User and system time until now; cheaper than `usage`. */
  cpuSeconds(): number;
  loopDelay(): LoopDelay;
}

/**
 * When Node cannot time turns of the event loop (before 26), a timer measures its delay. Timing turns
 * wakes no process: an idle agent would do little else than run the timer.
 */
const RESOLUTION_MS = samplesTurns() ? 0 : 500;
const WINDOW_MS = 60_000;
const NANOS_PER_SECOND = 1e9;
const MICROS_PER_SECOND = 1e6;

/** Begins to measure the event loop; goes on until closed, and keeps no process alive. */
export function connectOwnProcess(): OwnProcess & { close(): void } {
  const startTimeSeconds = Date.now() / 1000 - process.uptime();
  const delay = new LoopDelayWindows();
  return {
    engine: `node ${process.version}`,
    commandLine: [...process.execArgv, ...process.argv],
    usage: () => ({ ...readUsage(), startTimeSeconds }),
    memory: readMemory,
    releaseProgramPages: createProgramPageRelease(),
    trimMalloc: createMallocTrim(),
    compactHeap: createHeapCompaction(),
    letGarbageGather,
    cpuSeconds: readCpuSeconds,
    loopDelay: () => delay.read(),
    close: () => delay.close(),
  };
}

/** The window that is being filled and the one before it; every reader sees the same. */
class LoopDelayWindows {
  readonly #current = monitorEventLoopDelay({
    samplePerIteration: true,
    resolution: Math.max(1, RESOLUTION_MS),
  });
  readonly #timer: NodeJS.Timeout;
  #previous: LoopDelay = { p50Seconds: 0, p99Seconds: 0, maxSeconds: 0 };

  constructor() {
    this.#current.enable();
    // The turn that is under way was not timed from its beginning.
    setTimeout(() => this.#current.reset(), 0).unref();
    this.#timer = setInterval(() => {
      this.#previous = readHistogram(this.#current);
      this.#current.reset();
    }, WINDOW_MS);
    this.#timer.unref();
  }

  read(): LoopDelay {
    const current = readHistogram(this.#current);
    return {
      p50Seconds: Math.max(current.p50Seconds, this.#previous.p50Seconds),
      p99Seconds: Math.max(current.p99Seconds, this.#previous.p99Seconds),
      maxSeconds: Math.max(current.maxSeconds, this.#previous.maxSeconds),
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#current.disable();
  }
}

/** Node before 26 ignores the option. */
function samplesTurns(): boolean {
  try {
    monitorEventLoopDelay({ samplePerIteration: "unknown" as unknown as boolean });
    return false;
  } catch {
    return true;
  }
}

/** A timer's histogram counts the whole pause between two ticks; what exceeds its period is delay. */
function readHistogram(histogram: ReturnType<typeof monitorEventLoopDelay>): LoopDelay {
  const late = (nanos: number) => Math.max(0, nanos / NANOS_PER_SECOND - RESOLUTION_MS / 1000);
  if (histogram.count === 0) return { p50Seconds: 0, p99Seconds: 0, maxSeconds: 0 };
  return {
    p50Seconds: late(histogram.percentile(50)),
    p99Seconds: late(histogram.percentile(99)),
    maxSeconds: late(histogram.max),
  };
}

function readCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / MICROS_PER_SECOND;
}

function readUsage(): Omit<ProcessUsage, "startTimeSeconds"> {
  const status = readFileSync("/proc/self/status", "utf8");
  const limits = readFileSync("/proc/self/limits", "utf8");
  const { heapTotal, heapUsed, external } = process.memoryUsage();
  return {
    cpuSeconds: readCpuSeconds(),
    residentBytes: kibibytes(status, "VmRSS") * 1024,
    virtualBytes: kibibytes(status, "VmSize") * 1024,
    openFiles: readdirSync("/proc/self/fd").length,
    maxFiles: Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.NaN),
    heapTotalBytes: heapTotal,
    heapUsedBytes: heapUsed,
    externalBytes: external,
    threads: Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN),
    activeResources: process.getActiveResourcesInfo().length,
  };
}

function readMemory(): OwnMemory {
  const { total_heap_size, used_heap_size, heap_size_limit } = getHeapStatistics();
  return {
    residentBytes: process.memoryUsage.rss(),
    heapTotalBytes: total_heap_size,
    heapUsedBytes: used_heap_size,
    heapLimitBytes: heap_size_limit,
  };
}

function kibibytes(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Number.NaN);
}

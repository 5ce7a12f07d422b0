import type { MonotonicMs } from "../../kit/clock.ts";
import type { OwnMemory } from "../../outside/serving.ts";

/** CPU time of the process that counts as rest, of one processor; 50 pods with two probes a second each take 0.035. */
export const REST_SHARE = 0.1;
/**
 * Share of the time for which the agent may wait for a processor at rest. With a quota of a twentieth of one it waits nearly
 * always; on a machine with much other work, which is when memory is needed, only each time that it wakes up.
 */
export const REST_WAIT_SHARE = 0.5;
/** Rest after which memory is given back that takes only milliseconds to release. */
export const TRIM_AFTER_MS = 10_000;
/** Rest after which the heap is compacted, which takes as long as a full collection by V8. */
export const COMPACT_AFTER_MS = 120_000;
/** Time from one compaction to the next of an agent that stays at rest: what it does then leaves 1 MiB a minute behind. */
export const COMPACT_AGAIN_MS = 600_000;
/** What the heap has to hold beside objects in use, for a compaction to be worth it. */
export const COMPACT_FREE_BYTES = 6 * 1024 * 1024;

/** The kernel's times of the main thread. */
export const SCHEDULER_FILE = "/proc/self/schedstat";
const NANOS_PER_SECOND = 1e9;

/** What the process has had of processors until now. */
interface CpuReading {
  readonly usedSeconds: number;
  /** How long its main thread was ready to run and had none. */
  readonly waitedSeconds: number;
}

/** How memory is given back. */
interface ReleaseMeans {
  /** What costs little. */
  trim(): void;
  /** What a full collection of the heap makes free; `trim` follows. */
  compact(): void;
}

/**
 * Gives back what the process holds without using it, once the agent has come to rest: after many pods have come and gone
 * half of the heap is garbage or free, on pages that hold something else, too, and malloc has 4 to 5 MiB.
 */
export class RestRelease {
  readonly #means: ReleaseMeans;
  #last: (CpuReading & { readonly atMs: number }) | undefined;
  #restSinceMs = 0;
  #isTrimmed = false;
  /** When the heap may be compacted again. */
  #compactFromMs = 0;
  /** Size of the objects in use: the least that was seen since the last compaction. */
  #usedBytes = Number.POSITIVE_INFINITY;

  constructor(means: ReleaseMeans) {
    this.#means = means;
  }

  /**
   * Takes a reading of processors and of the heap. An agent that waits for a processor most of the time has work to do,
   * however little it gets: compacting the heap would take it all of that for seconds.
   */
  take(
    heap: Pick<OwnMemory, "heapTotalBytes" | "heapUsedBytes">,
    cpu: CpuReading,
    atMs: MonotonicMs,
  ): void {
    const last = this.#last;
    this.#last = { ...cpu, atMs };
    this.#usedBytes = Math.min(this.#usedBytes, heap.heapUsedBytes);
    if (!last || isAtWork(cpu, last, (atMs - last.atMs) / 1000)) {
      this.#restSinceMs = atMs;
      this.#isTrimmed = false;
      this.#compactFromMs = atMs + COMPACT_AFTER_MS;
      return;
    }
    if (!this.#isTrimmed && atMs - this.#restSinceMs >= TRIM_AFTER_MS) {
      this.#isTrimmed = true;
      this.#means.trim();
    }
    const unusedBytes = heap.heapTotalBytes - this.#usedBytes;
    if (atMs < this.#compactFromMs || unusedBytes < COMPACT_FREE_BYTES) return;
    this.#compactFromMs = atMs + COMPACT_AGAIN_MS;
    this.#means.compact();
    // Since it came to rest, and by the collection, the agent has used memory again that costs little to give back.
    this.#means.trim();
    this.#usedBytes = Number.POSITIVE_INFINITY;
  }
}

function isAtWork(now: CpuReading, before: CpuReading, seconds: number): boolean {
  return (
    now.usedSeconds - before.usedSeconds > REST_SHARE * seconds ||
    now.waitedSeconds - before.waitedSeconds > REST_WAIT_SHARE * seconds
  );
}

/** The wait by the text of `SCHEDULER_FILE`; 0 where the kernel does not give it. */
export function waitedSeconds(text: string | undefined): number {
  const nanos = Number(text?.split(" ")[1]);
  return Number.isFinite(nanos) ? nanos / NANOS_PER_SECOND : 0;
}

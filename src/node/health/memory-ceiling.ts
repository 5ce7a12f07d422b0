// pure
/**
 * Whether the agent has so little memory left that it is better started again, in order, before the kernel or the engine
 * ends it in the middle of its work.
 */
import { smallest } from "../../kit/limits/lists.ts";
import type { OwnMemory } from "../../outside/serving.ts";

/** Part of the memory limit of the agent's cgroup that the agent itself may take; file workers are in that cgroup, too. */
const RESIDENT_SHARE = 0.8;
/** Part of the heap limit of the engine, beyond which it does little else than collecting garbage. */
const HEAP_SHARE = 0.9;
/** Measurements in a row that have to be above: the heap holds garbage until it is collected. */
const MEASUREMENTS = 3;
const MIB = 1024 * 1024;
/** Above that, a limit is how cgroup v1 writes that there is none. */
const MAX_LIMIT_BYTES = 2 ** 62;

/** See the head of this file. */
export class MemoryCeiling {
  readonly #limitBytes: number | undefined;
  #above = 0;

  /** `limitBytes` of the agent's cgroup; `undefined` where it has none. */
  constructor(limitBytes: number | undefined) {
    this.#limitBytes = limitBytes;
  }

  /** Takes a measurement; why the agent is to be started again, `undefined` as long as it is well. */
  take(memory: OwnMemory): string | undefined {
    const reason = this.#judge(memory);
    this.#above = reason === undefined ? 0 : this.#above + 1;
    return this.#above >= MEASUREMENTS ? reason : undefined;
  }

  #judge({ residentBytes, heapUsedBytes, heapLimitBytes }: OwnMemory): string | undefined {
    const limit = this.#limitBytes;
    if (limit !== undefined && residentBytes > limit * RESIDENT_SHARE)
      return `the agent has ${mib(residentBytes)} of memory, and its cgroup a limit of ${mib(limit)}`;
    if (heapUsedBytes > heapLimitBytes * HEAP_SHARE)
      return `the heap of the agent has ${mib(heapUsedBytes)} of at most ${mib(heapLimitBytes)}`;
    return undefined;
  }
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

/** Files of a group that may limit its memory, of both versions of cgroups. */
export const MEMORY_LIMIT_FILES = ["memory.high", "memory.max", "memory.limit_in_bytes"] as const;

/** The lowest of the limits that these files say; `undefined` where none does. */
export function lowestLimit(values: readonly (string | undefined)[]): number | undefined {
  const limits = values
    .filter((value) => /^\d+$/.test(value ?? ""))
    .map(Number)
    .filter((limit) => limit < MAX_LIMIT_BYTES);
  return limits.length === 0 ? undefined : smallest(limits);
}

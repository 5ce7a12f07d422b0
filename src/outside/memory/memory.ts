/**
 * All that an agent and its file workers set about memory, V8 and malloc. "Measured" is of 50 pods through the API on two
 * cores where nothing else is said.
 *
 * | setting | of | why | measured |
 * | --- | --- | --- | --- |
 * | `--max-old-space-size` | both | what leaks or is flooded ends the process, which is started again, instead of having the kernel kill pods | agents with 110 pods use an eighth of it |
 * | `--max-semi-space-size=1` | both | a nursery that stays small under load | 4 MiB instead: CPU within 2 % |
 * | `--single-threaded-gc` | both | helpers of the collector cost more than they save on few cores | 330 probes a second: 101 – 114 m to 96 – 108 m |
 * | `--v8-pool-size=1` | both | each compilation would wake several threads, one of which has something to do | wakings for a pod 88 to 78, CPU of V8's threads 5.4 to 4.7 ms |
 * | `--optimize-for-size` | both, an agent for its first 10 s | full collections give pages back; while pods come and go they are mapped again | resident without pods 66 to 57 MiB; for good: CPU for a pod 36 to 42 ms |
 * | `--heap-growing-percent=60` | agent | V8 lets the heap double while pods come and go | 30 instead: 48.6 instead of 42.3 ms of CPU for a pod |
 * | `--no-incremental-marking` | agent | in steps marking takes four times as long and the heap grows by 20 MiB meanwhile | collector 577, 549 ms to 121, 79, 119 ms for 50 pods |
 * | `--invocation-count-for-maglev=800`, `--no-turbofan` | agent | most functions run too seldom for an optimizing compiler to pay off | share of the machine's work 0.14 to 0.13 |
 * | `--no-opt`, `--no-maglev`, `--no-sparkplug` | worker | what a worker does is system calls | 10 MiB anonymous at rest, 7.7 of them Node itself |
 * | `MALLOC_ARENA_MAX` | both | one arena, whose free end is given back | |
 * | `MALLOC_MMAP_THRESHOLD_` | agent | blocks of 64 KiB and more leave no hole; from 32 KiB on each compiled function costs page faults | from 128 KiB on 10 MiB more |
 * | `MALLOC_TRIM_THRESHOLD_` | agent | the end of the arena is kept up to this size | |
 * | pages of Node's program (`program-pages.ts`) | both | 50 MiB that only the start touched | resident 97.5 to 65.1 MiB |
 * | `malloc_trim` (`unused-memory.ts`) | both, at rest | free blocks between those in use | 4 to 5 MiB; 3 to 10 ms |
 * | compaction of the heap (`unused-memory.ts`) | agent, after 2 min of rest | garbage on pages that hold something else | 57 to 50 MiB anonymous; 60 to 190 ms |
 * | code cache (`tools/code-cache/`) | agent, commands | compiling is a quarter of the CPU of a start | 509 to 363 ms until Ready |
 * | lazy modules, rare packages (`tools/lazy-modules.mjs`, `tools/rare-packages.mjs`) | both | Node's crypto, zlib and child_process take 1 to 2 MiB each, packages stay in memory as text | anonymous 30.8 to 27.9 MiB |
 *
 * When an agent is at rest is decided in `node/health/`; where its memory ends it exits by itself there, too.
 */
import { setFlagsFromString } from "node:v8";

export { createProgramPageRelease } from "./program-pages.ts";
export { createHeapCompaction, createMallocTrim, letGarbageGather } from "./unused-memory.ts";

/**
 * How Node is started. Without `--disable-sigusr1` one stray signal opens Node's inspector, which lets any local
 * user and any pod in the host's network act as root. `bin/nodelet` holds the same for whoever starts it there.
 */
export const NODE_FLAGS: readonly string[] = ["--disable-sigusr1"];

const memoryFlags = (heapLimit: string) => [
  ...NODE_FLAGS,
  heapLimit,
  "--max-semi-space-size=1",
  "--single-threaded-gc",
  "--v8-pool-size=1",
];

const HEAP_OPTION = /(?:^|\s)--max[-_]old[-_]space[-_]size[= ]\d+/;

/** How Node is started for an agent. `nodeOptions` is the variable NODE_OPTIONS; a limit of the heap that it sets is kept. */
export function agentNodeFlags(nodeOptions: string | undefined): readonly string[] {
  const limit = HEAP_OPTION.exec(nodeOptions ?? "")?.[0]
    .trim()
    .replace(" ", "=");
  return memoryFlags(limit ?? "--max-old-space-size=512");
}

/** How Node is started for a file worker. */
export const WORKER_NODE_FLAGS: readonly string[] = memoryFlags("--max-old-space-size=128");

/** Those of them that Node takes from the environment, for a worker of a single executable. */
export const WORKER_NODE_OPTIONS: string = WORKER_NODE_FLAGS.slice(0, 3).join(" ");

/** Environment of a file worker. */
export const WORKER_MALLOC = { MALLOC_ARENA_MAX: "1" } as const;

/** Environment of an agent. */
export const AGENT_MALLOC = {
  ...WORKER_MALLOC,
  MALLOC_MMAP_THRESHOLD_: "65536",
  MALLOC_TRIM_THRESHOLD_: "1048576",
} as const;

const V8_FLAGS = {
  agent: [
    "--optimize-for-size",
    "--heap-growing-percent=60",
    "--no-incremental-marking",
    "--invocation-count-for-maglev=800",
    "--no-turbofan",
  ],
  worker: ["--no-opt", "--no-maglev", "--no-sparkplug", "--optimize-for-size"],
};

/**
 * Sets V8's flags of a process, once its program is loaded: on the command line they would make V8 refuse the compiled code
 * that Node brings for its own modules, and compile a hundred of them at each start.
 */
export function setV8Flags(of: keyof typeof V8_FLAGS): void {
  for (const flag of V8_FLAGS[of]) setFlagsFromString(flag);
}

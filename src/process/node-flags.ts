/**
 * How Node is started. Without `--disable-sigusr1` one stray signal opens Node's inspector, which lets any local
 * user and any pod in the host's network act as root. `bin/nodelet` holds the same for whoever starts it there.
 */
export const NODE_FLAGS: readonly string[] = ["--disable-sigusr1"];

/**
 * Old space of an agent, in MiB: about eight times what it needs with 110 pods. What leaks or is flooded ends the
 * agent, which is started again, instead of having the kernel kill pods that have a higher score than it.
 */
const AGENT_HEAP_MIB = 512;

/**
 * Settings of malloc for an agent: one arena, whose free end is returned to the system. Blocks of 64 KiB and more are mapped
 * one by one, so that they leave no hole in the arena; a lower limit costs page faults with each function that V8 compiles.
 */
export const AGENT_MALLOC = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "65536",
  MALLOC_TRIM_THRESHOLD_: "1048576",
} as const;

const HEAP_OPTION = /(?:^|\s)--max[-_]old[-_]space[-_]size[= ]\d+/;

/**
 * How Node is started for an agent, which runs for months: a heap with a limit that is collected early, by
 * one thread; one thread that compiles functions that run often. What else it sets is in `v8-flags.ts`. `nodeOptions` is
 * the variable NODE_OPTIONS; a limit that it sets is kept.
 */
export function agentNodeFlags(nodeOptions: string | undefined): readonly string[] {
  const limit = HEAP_OPTION.exec(nodeOptions ?? "")?.[0]
    .trim()
    .replace(" ", "=");
  return [
    ...NODE_FLAGS,
    limit ?? `--max-old-space-size=${AGENT_HEAP_MIB}`,
    "--max-semi-space-size=1",
    "--single-threaded-gc",
    "--v8-pool-size=1",
  ];
}

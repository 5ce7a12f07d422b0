import { setFlagsFromString } from "node:v8";
import { loadCFunctions } from "../c-library.ts";

const MALLOC_TRIM = { malloc_trim: { arguments: ["u64"], return: "i32" } } as const;

/**
 * Gives the blocks that malloc holds free back to the kernel, those between blocks in use too (malloc_trim(3)); it
 * gives back only the end of its heap by itself. `false` where Node cannot call the C library, or that is not glibc.
 */
export function createMallocTrim(): () => boolean {
  let functions: ReturnType<typeof loadCFunctions<typeof MALLOC_TRIM>> | false;
  return () => {
    functions ??= loadCFunctions(MALLOC_TRIM) ?? false;
    if (functions) functions.malloc_trim(0n);
    return functions !== false;
  };
}

/** V8's `gc`, as far as it is used. */
type Collect = (options: {
  readonly type: "major";
  readonly execution: "sync";
  readonly flavor: "last-resort";
}) => void;

/**
 * Collects the heap of JavaScript as V8 does before it runs out of memory: objects move together and pages without any go
 * back to the kernel. Nothing else runs meanwhile, 60 to 130 ms with 30 MiB. `false` where V8 has no such function.
 */
export function createHeapCompaction(): () => boolean {
  let collect: Collect | false;
  return () => {
    collect ??= loadCollect() ?? false;
    if (collect) collect({ type: "major", execution: "sync", flavor: "last-resort" });
    return collect !== false;
  };
}

/**
 * From now on V8 lets garbage come together before it collects the heap, and seldom moves objects together for it. An agent
 * starts with the opposite (`--optimize-for-size`), which has every full collection give memory back to the kernel.
 */
export function letGarbageGather(): void {
  setFlagsFromString("--no-optimize-for-size");
}

function loadCollect(): Collect | undefined {
  try {
    // With the flag set V8 would refuse the compiled code of Node's own modules that are loaded later.
    setFlagsFromString("--expose-gc");
    return process.getBuiltinModule("node:vm")?.runInNewContext("gc") as Collect | undefined;
  } catch {
    return undefined;
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}

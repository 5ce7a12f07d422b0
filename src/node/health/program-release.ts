import type { OwnProcess } from "../../outside/serving.ts";

/** How much more than after the last release has to be resident before it is worth another one. */
export const RELEASE_GROWTH_BYTES = 8 * 1024 * 1024;

/**
 * Gives back the pages of the program at the first call of the result, which is after the start, and whenever the process
 * has grown a good deal since: the start of many pods brings some of them back. A busy agent keeps what it uses all the time.
 */
export function programRelease(
  process: Pick<OwnProcess, "memory" | "releaseProgram"> | undefined,
): () => void {
  if (!process) return () => {};
  let isPossible = true;
  let floorBytes = -RELEASE_GROWTH_BYTES;
  return () => {
    if (!isPossible) return;
    const { residentBytes } = process.memory();
    if (residentBytes < floorBytes + RELEASE_GROWTH_BYTES) {
      floorBytes = Math.min(floorBytes, residentBytes);
      return;
    }
    isPossible = process.releaseProgram();
    floorBytes = process.memory().residentBytes;
  };
}

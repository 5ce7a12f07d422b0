import type { OwnMemory, OwnProcess } from "../../outside/serving.ts";

/** How much more than after the last release has to be resident before it is worth another one. */
export const RELEASE_GROWTH_BYTES = 8 * 1024 * 1024;

/**
 * Gives back the pages of the program after the start, and whenever the process has grown a good deal since: the start of
 * many pods brings some of them back. A busy agent keeps what it uses all the time.
 */
export class ProgramPageRelease {
  readonly #process: Pick<OwnProcess, "memory" | "releaseProgramPages">;
  #isPossible = true;
  /** The least that was resident since the last release; the first reading is always above it. */
  #floorBytes = -RELEASE_GROWTH_BYTES;

  constructor(process: Pick<OwnProcess, "memory" | "releaseProgramPages">) {
    this.#process = process;
  }

  /** Takes a reading of the memory of the process. */
  take({ residentBytes }: Pick<OwnMemory, "residentBytes">): void {
    if (!this.#isPossible) return;
    if (residentBytes < this.#floorBytes + RELEASE_GROWTH_BYTES) {
      this.#floorBytes = Math.min(this.#floorBytes, residentBytes);
      return;
    }
    this.#isPossible = this.#process.releaseProgramPages();
    this.#floorBytes = this.#process.memory().residentBytes;
  }
}

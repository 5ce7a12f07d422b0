import { closeSync, openSync, readFileSync } from "node:fs";
import { openGroupFileText } from "./kernel-text.ts";

/** Most files held open, and at most this part of what the process may open at all. Enough for 250 pods of two containers. */
const MAX_KEPT = 8192;
const PART_OF_LIMIT = 1 / 4;
/** A file that is not read for this long (up to twice as long) is closed. */
const KEEP_MS = 60_000;

interface Kept {
  readonly descriptor: number;
  used: boolean;
}

/**
 * Kernel files that are read again and again, held open meanwhile: reading an open one costs a fifth of
 * opening, reading and closing. A file whose group is gone says so when it is read, and is closed then.
 */
export class KeptFiles {
  readonly #locate: (group: string, file: string) => string | undefined;
  readonly #most: number;
  /** By group, then by file: both names are at hand on each read, and the path needs not be put together. */
  readonly #kept = new Map<string, Map<string, Kept>>();
  #size = 0;
  #isArmed = false;

  /** `locate` gives the path of a group's file; it may throw. */
  constructor(
    locate: (group: string, file: string) => string | undefined,
    most = Math.min(MAX_KEPT, openLimit() * PART_OF_LIMIT),
  ) {
    this.#locate = locate;
    this.#most = most;
  }

  /** How many are open. */
  get size(): number {
    return this.#size;
  }

  /** The text without its last newline; `undefined` when it cannot be read, whatever the reason. */
  read(group: string, file: string): string | undefined {
    const kept = this.#kept.get(group)?.get(file);
    if (kept) {
      try {
        kept.used = true;
        return openGroupFileText(kept.descriptor);
      } catch {
        // Perhaps the group was recreated: then the path leads to other files now.
        this.#close(group, file);
      }
    }
    const path = this.#locate(group, file);
    if (path === undefined) return undefined;
    if (this.#size >= this.#most) return this.#readOnce(path);
    try {
      const descriptor = openSync(path, "r");
      this.#keep(group, file, descriptor);
      return openGroupFileText(descriptor);
    } catch {
      this.#close(group, file);
      return undefined;
    }
  }

  /**
   * Of more files than may be held the rest is opened each time: files are read in the same order again and again, and
   * closing the oldest for each would leave none open that is read next.
   */
  #readOnce(path: string): string | undefined {
    let descriptor: number | undefined;
    try {
      descriptor = openSync(path, "r");
      return openGroupFileText(descriptor);
    } catch {
      return undefined;
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  #keep(group: string, file: string, descriptor: number): void {
    const files = this.#kept.get(group) ?? new Map<string, Kept>();
    this.#kept.set(group, files.set(file, { descriptor, used: true }));
    this.#size += 1;
    if (!this.#isArmed) this.#arm();
  }

  /** By a timer of the process that does not keep it from ending. */
  #arm(): void {
    this.#isArmed = true;
    setTimeout(() => this.#sweep(), KEEP_MS).unref();
  }

  #sweep(): void {
    for (const [group, files] of this.#kept)
      for (const [file, kept] of files) {
        if (!kept.used) this.#close(group, file);
        kept.used = false;
      }
    this.#isArmed = false;
    if (this.#size > 0) this.#arm();
  }

  /** Nothing happens when it is not open. */
  #close(group: string, file: string): void {
    const files = this.#kept.get(group);
    const kept = files?.get(file);
    if (files === undefined || kept === undefined) return;
    files.delete(file);
    if (files.size === 0) this.#kept.delete(group);
    this.#size -= 1;
    closeSync(kept.descriptor);
  }
}

/** Files that this process may have open. */
function openLimit(): number {
  const limits = readFileSync("/proc/self/limits", "utf8");
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? MAX_KEPT);
}

import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** Most files held open, and at most this part of what the process may open at all. */
const MAX_KEPT = 4096;
const PART_OF_LIMIT = 1 / 4;
/** A file that is not read for this long (up to twice as long) is closed. */
const KEEP_MS = 60_000;
/** Size of one read; the kernel files that are read are far smaller. */
const BUFFER_BYTES = 64 * 1024;

interface Kept {
  readonly descriptor: number;
  used: boolean;
}

/**
 * Kernel files that are read again and again, held open meanwhile: reading an open one costs a fifth of
 * opening, reading and closing. A file whose group is gone says so when it is read, and is closed then.
 */
export class KeptFiles {
  readonly #most: number;
  readonly #kept = new Map<string, Kept>();
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #isArmed = false;

  constructor(most = Math.min(MAX_KEPT, openLimit() * PART_OF_LIMIT)) {
    this.#most = most;
  }

  /** How many are open. */
  get size(): number {
    return this.#kept.size;
  }

  /** The text without its last newline; `undefined` when it cannot be read, whatever the reason. */
  read(path: string): string | undefined {
    const kept = this.#kept.get(path);
    if (kept) {
      try {
        kept.used = true;
        return this.#text(kept.descriptor);
      } catch {
        // Perhaps the group was recreated: then the path leads to other files now.
        this.#close(path, kept);
      }
    }
    if (this.#kept.size >= this.#most) return this.#readOnce(path);
    try {
      const descriptor = openSync(path, "r");
      this.#keep(path, descriptor);
      return this.#text(descriptor);
    } catch {
      const failed = this.#kept.get(path);
      if (failed) this.#close(path, failed);
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
      return this.#text(descriptor);
    } catch {
      return undefined;
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  #text(descriptor: number): string {
    const length = readSync(descriptor, this.#buffer, 0, BUFFER_BYTES, 0);
    const end = length > 0 && this.#buffer[length - 1] === NEWLINE ? length - 1 : length;
    return this.#buffer.toString("latin1", 0, end);
  }

  #keep(path: string, descriptor: number): void {
    this.#kept.set(path, { descriptor, used: true });
    if (this.#isArmed) return;
    this.#arm();
  }

  /** By a timer of the process that does not keep it from ending. */
  #arm(): void {
    this.#isArmed = true;
    setTimeout(() => this.#sweep(), KEEP_MS).unref();
  }

  #sweep(): void {
    for (const [path, kept] of this.#kept) {
      if (!kept.used) this.#close(path, kept);
      kept.used = false;
    }
    this.#isArmed = false;
    if (this.#kept.size > 0) this.#arm();
  }

  #close(path: string, { descriptor }: Kept): void {
    this.#kept.delete(path);
    closeSync(descriptor);
  }
}

const NEWLINE = 10;

/** Files that this process may have open. */
function openLimit(): number {
  const limits = readFileSync("/proc/self/limits", "utf8");
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? MAX_KEPT);
}

import type { Clock } from "../clock.ts";
import { isOutside } from "../errors.ts";
import type { Log } from "../log.ts";
import { createSeededRandom } from "../random.ts";
import type { TaskScope } from "../scope.ts";

/** Size of the file that is given up on a full disk: statuses of a full node and some of the journal. */
export const RESERVE_BYTES = 4 * 1024 * 1024;
/** How often the reserve tries to make the file again. */
const REMAKE_MS = 60_000;
/** The reserve is made only where the disk has this many times its size free, so that it takes no space that others need. */
const FREE_FACTOR = 4;
/** Fill pattern of the file. */
const BLOCK_BYTES = 64 * 1024;
const FILE_MODE = 0o600;

/** Whether the disk has nothing left, and not the process: that has no descriptors where `EMFILE` is the cause. */
export function isDiskFull(thrown: unknown): boolean {
  if (!isOutside(thrown, "exhausted")) return false;
  const { code } = (thrown.cause ?? {}) as { readonly code?: unknown };
  return code !== "EMFILE" && code !== "ENFILE";
}

interface StateReserveDeps {
  readonly files: {
    writeAtomic(path: string, content: Uint8Array, mode: number): Promise<void>;
    facts(path: string): Promise<{ readonly sizeBytes: number } | undefined>;
    remove(path: string): Promise<void>;
  };
  readonly clock: Clock;
  readonly log: Log;
  /** Free bytes of the file system that holds `path`; `undefined` when unknown. */
  readonly freeBytes: (path: string) => Promise<number | undefined>;
}

/**
 * A file that reserves space on the disk: it is removed when an important write finds no space left, and made
 * again when there is space.
 */
export class StateReserve {
  readonly #path: string;
  readonly #deps: StateReserveDeps;
  #isMade = false;
  #releasing: Promise<boolean> | undefined;

  /** `path` is absolute; its folder may be missing until `keep`. */
  constructor(path: string, deps: StateReserveDeps) {
    this.#path = path;
    this.#deps = deps;
  }

  /** Keeps the file there, as long as the scope is open, whenever the disk has the space for it. */
  keep(scope: TaskScope): void {
    scope.spawn("reserve of the disk", "restart", async (signal) => {
      for (;;) {
        if (!this.#isMade) await this.#make();
        await this.#deps.clock.sleep(REMAKE_MS, signal);
      }
    });
  }

  /** Removes the file to free its space; resolves with whether there was one. */
  release(): Promise<boolean> {
    this.#releasing ??= this.#release().finally(() => {
      this.#releasing = undefined;
    });
    return this.#releasing;
  }

  async #release(): Promise<boolean> {
    const { files, log } = this.#deps;
    try {
      const facts = await files.facts(this.#path);
      if (facts === undefined || facts.sizeBytes === 0) return false;
      await files.remove(this.#path);
      this.#isMade = false;
      log.error("the disk is full; released reserved space for statuses and journal", {
        path: this.#path,
        bytes: facts.sizeBytes,
      });
      return true;
    } catch (error) {
      log.warn("failed to release reserved disk space", { error });
      return false;
    }
  }

  async #make(): Promise<void> {
    const { files, log, freeBytes } = this.#deps;
    try {
      if ((await files.facts(this.#path))?.sizeBytes === RESERVE_BYTES) {
        this.#isMade = true;
        return;
      }
      const free = await freeBytes(this.#path.slice(0, this.#path.lastIndexOf("/")));
      if (free === undefined || free < RESERVE_BYTES * FREE_FACTOR) return;
      await files.writeAtomic(this.#path, this.#content(), FILE_MODE);
      this.#isMade = true;
    } catch (error) {
      log.verbose(2, "failed to reserve disk space", { error });
    }
  }

  /** Not zeros: file systems that compress would reserve no space for them. */
  #content(): Uint8Array {
    const random = createSeededRandom(1);
    const block = new Uint8Array(BLOCK_BYTES);
    for (let at = 0; at < BLOCK_BYTES; at += 1) block[at] = Math.floor(random.next() * 256);
    const content = new Uint8Array(RESERVE_BYTES);
    for (let at = 0; at < RESERVE_BYTES; at += BLOCK_BYTES) content.set(block, at);
    return content;
  }
}

import type { Clock } from "../clock.ts";
import type { TaskScope } from "../scope.ts";
import { untilAborted } from "../within.ts";

/** How long after a failure a change is tried again, and from then on. */
const RETRY_MS = 30_000;

/**
 * Changes of files that could not be made, the latest of each path, tried again until they can be. Callers change a
 * file one after the other; what is newer is never replaced by what is tried again.
 */
export class FailedChanges {
  readonly #changes = new Map<string, () => Promise<void>>();
  /** The attempt that is under way. */
  #retrying: Promise<void> = Promise.resolve();
  /** Resolves with the next failure. */
  #failed = Promise.withResolvers<void>();

  /** Makes a change, which replaces an earlier one of this path that failed. Rejects as the change does, and keeps it then. */
  async run(path: string, change: () => Promise<void>): Promise<void> {
    await this.#retrying;
    this.#changes.delete(path);
    try {
      await change();
    } catch (error) {
      this.keep(path, change);
      throw error;
    }
  }

  /** Keeps a change that has failed. */
  keep(path: string, change: () => Promise<void>): void {
    this.#changes.set(path, change);
    this.#failed.resolve();
  }

  /** Tries again as long as the scope is open, and sleeps while there is nothing to try. */
  follow(scope: TaskScope, clock: Clock): void {
    scope.spawn("state files that could not be written", "restart", async (signal) => {
      for (;;) {
        await untilAborted(this.#failed.promise, signal);
        this.#failed = Promise.withResolvers();
        await clock.sleep(RETRY_MS, signal);
        this.#retrying = this.#retry();
        await this.#retrying;
      }
    });
  }

  async #retry(): Promise<void> {
    const due = [...this.#changes];
    this.#changes.clear();
    for (const [path, change] of due)
      await change().catch(() => {
        // A newer change of the same file waits for this attempt and needs no older one.
        if (!this.#changes.has(path)) this.keep(path, change);
      });
  }
}

import type { Clock, MonotonicMs } from "../../kit/clock.ts";
import type { HealthCheck, HealthMeasure } from "../../kit/health/health.ts";

interface ThreadPoolDeps {
  readonly clock: Clock;
  /** A file operation that is done at once wherever a thread of the pool and the disk are free. */
  readonly touch: () => Promise<unknown>;
}

/** A pool that takes longer for an operation of no size has no thread to spare, or the disk is stuck. */
const LIMIT_MS = 10_000;
/** As long as the runtime may go without a listing (PLEG relist threshold). */
const NOT_READY_AFTER_MS = 180_000;
const PROBLEM = `file operations take more than ${LIMIT_MS / 1000}s: all threads are taken, or the disk is stuck`;

/**
 * Times the threads that do the file work of this process, by an operation of its own. There is never more
 * than one: where threads are stuck, the question must not take what is left.
 */
export class ThreadPoolWatch {
  readonly #deps: ThreadPoolDeps;
  #lastMs: number | undefined;
  #pendingSince: MonotonicMs | undefined;

  constructor(deps: ThreadPoolDeps) {
    this.#deps = deps;
  }

  /** Begins an operation, unless the last one is still under way. To be called again and again. */
  ask(): void {
    if (this.#pendingSince === undefined) void this.#time(this.#deps.clock.monotonic());
  }

  /** Fails while the pool takes long; without file operations no pod can be managed. */
  get check(): HealthCheck {
    return {
      name: "thread-pool",
      severity: "unhealthy",
      notReadyAfterMs: NOT_READY_AFTER_MS,
      measure: () => this.#measure(),
    };
  }

  #measure(): HealthMeasure {
    const since = this.#pendingSince;
    // One that has just begun says nothing yet: a disk that takes 12 s each time is slow all the time.
    const pendingMs = since === undefined ? 0 : this.#deps.clock.monotonic() - since;
    const lagMs = since === undefined ? this.#lastMs : Math.max(this.#lastMs ?? 0, pendingMs);
    return { lagMs, problem: (lagMs ?? 0) > LIMIT_MS ? PROBLEM : undefined };
  }

  async #time(began: MonotonicMs): Promise<void> {
    this.#pendingSince = began;
    try {
      await this.#deps.touch();
    } catch {
      // The result does not matter here: the pool has answered.
    }
    this.#lastMs = this.#deps.clock.monotonic() - began;
    this.#pendingSince = undefined;
  }
}

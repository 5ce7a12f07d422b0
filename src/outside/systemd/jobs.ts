import type { Clock } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";

/**
 * Ends of systemd's jobs by their paths. The signal may come before the answer that names the job, so
 * ends are kept while there are waiters.
 */
export class Jobs {
  readonly #results = new Map<string, string>();
  readonly #waiting = new Map<string, (result: string) => void>();

  /** A job has ended. */
  end(job: string, result: string): void {
    const waiting = this.#waiting.get(job);
    if (waiting) waiting(result);
    else this.#results.set(job, result);
  }

  /** Resolves with the job's result, e.g. `done`; `OutsideError` "deadline" after `timeoutMs`. */
  ended(job: string, clock: Clock, timeoutMs: number): Promise<string> {
    const known = this.#results.get(job);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      const cancel = clock.alarm(timeoutMs, () => {
        this.#waiting.delete(job);
        reject(new OutsideError("deadline", `job ${job} did not end within ${timeoutMs} ms`));
      });
      this.#waiting.set(job, (result) => {
        cancel();
        this.#waiting.delete(job);
        if (result === LOST)
          reject(new OutsideError("unavailable", `connection lost during ${job}`));
        else resolve(result);
      });
    });
  }

  /** No more signals will come. */
  lose(): void {
    for (const waiting of [...this.#waiting.values()]) waiting(LOST);
  }

  /** Drops unclaimed job results; called when no call is in flight. */
  forget(): void {
    this.#results.clear();
  }
}

const LOST = "connection lost";

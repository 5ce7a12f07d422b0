import { retryDelayMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import { InvariantError, messageOf } from "./errors.ts";
import type { Log } from "./log.ts";
import { NEVER_ABORTED, within } from "./within.ts";

/**
 * Handling of a task that throws: `restart` runs it again after a back-off (loops), `fail` ends the
 * scope's owner (listeners, consumers of a mailbox).
 */
type TaskPolicy = "restart" | "fail";

interface TaskScopeDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Called for every throw of a task, for counting. */
  readonly onTaskError?: (task: string) => void;
}

/** A part that does not end within this time when its scope closes is left behind, and named in the log. */
const CLOSE_LIMIT_MS = 20_000;

const RESTART = { initialMs: 100, maxMs: 30_000 };

/**
 * The only way to start work in the background. Closing a scope aborts its tasks and closes what was
 * deferred, waits for all of it in reverse order of starting, 20 s at most for each, and reports every error.
 */
export class TaskScope implements AsyncDisposable {
  readonly name: string;
  readonly #deps: TaskScopeDeps;
  readonly #abort = new AbortController();
  readonly #closers = new Set<{
    readonly name: string;
    readonly close: () => Promise<void> | void;
  }>();
  #failure: Error | undefined;
  #onFailure: (() => void) | undefined;
  #closing = false;
  #closed: Promise<void> | undefined;

  constructor(name: string, deps: TaskScopeDeps) {
    this.name = name;
    this.#deps = deps;
  }

  /** Aborted when the scope begins to close. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The error of the first `fail` task that threw. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Starts `task`; it must end soon after its signal is aborted. */
  spawn(name: string, policy: TaskPolicy, task: (signal: AbortSignal) => Promise<void>): void {
    if (this.#closing)
      throw new InvariantError(`scope ${this.name} is closed; cannot start ${name}`);
    const running =
      policy === "restart" ? this.#keepRunning(name, task) : this.#runOnce(name, task);
    const closer = { name, close: () => running };
    this.#closers.add(closer);
    void running.then(() => this.#closers.delete(closer));
  }

  /** Calls `close` when the scope closes, before anything that was started earlier is waited for. */
  defer(name: string, close: () => Promise<void> | void): void {
    if (this.#closing)
      throw new InvariantError(`scope ${this.name} is closed; cannot defer ${name}`);
    this.#closers.add({ name, close });
  }

  /** Resolves when `leave` is aborted; rejects with the error of the first `fail` task that threw. */
  untilFailureOr(leave: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        leave.removeEventListener("abort", settle);
        this.#onFailure = undefined;
        if (this.#failure) reject(this.#failure);
        else resolve();
      };
      if (leave.aborted || this.#failure) {
        settle();
        return;
      }
      leave.addEventListener("abort", settle, { once: true });
      this.#onFailure = settle;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing = true;
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { clock, log } = this.#deps;
    this.#abort.abort(new Error(`${this.name} is closing`));
    for (const { name, close } of [...this.#closers].toReversed()) {
      try {
        await within(
          { clock, ms: CLOSE_LIMIT_MS, what: `closing ${name}` },
          NEVER_ABORTED,
          async () => close(),
        );
      } catch (error) {
        log.error("failed to close", { scope: this.name, part: name, error });
      }
    }
  }

  async #runOnce(name: string, task: (signal: AbortSignal) => Promise<void>): Promise<void> {
    try {
      await task(this.signal);
    } catch (error) {
      if (this.signal.aborted) return;
      this.#deps.onTaskError?.(name);
      this.#failure ??= error instanceof Error ? error : new Error(messageOf(error));
      this.#onFailure?.();
    }
  }

  async #keepRunning(name: string, task: (signal: AbortSignal) => Promise<void>): Promise<void> {
    let failures = 0;
    while (!this.signal.aborted) {
      const startedAt = this.#deps.clock.monotonic();
      try {
        await task(this.signal);
        return;
      } catch (error) {
        if (this.signal.aborted) return;
        this.#deps.onTaskError?.(name);
        const lived = this.#deps.clock.monotonic() - startedAt;
        failures = lived > RESTART.maxMs ? 1 : failures + 1;
        const delayMs = retryDelayMs(failures, RESTART);
        this.#deps.log.error("task failed and will be restarted", { task: name, delayMs, error });
        await this.#deps.clock.sleep(delayMs, this.signal).catch(() => {});
      }
    }
  }
}

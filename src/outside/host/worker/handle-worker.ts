import type { Clock } from "../../../kit/clock.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { limitOperation } from "./operation-limit.ts";
import { OPERATION_LIMITS_MS, type OperationName } from "./operations.ts";
import type { UnansweredPlaces } from "./unanswered-places.ts";
import { WorkerProcess } from "./worker-process.ts";

/** The worker ends when nothing was held open or requested for this long. */
const IDLE_MS = 30_000;

/**
 * A worker that takes requests side by side, and holds folders and files open for readers of logs. When one runs into its limit the worker is replaced; what it held is opened again when it is needed
 * (`remote-folder.ts`).
 */
export class HandleWorker {
  readonly #clock: Clock;
  readonly #places: UnansweredPlaces;
  #process: WorkerProcess | undefined;
  #held = 0;
  #cancelIdle = () => {};
  #closed = false;

  constructor(clock: Clock, places: UnansweredPlaces) {
    this.#clock = clock;
    this.#places = places;
  }

  /** The process to open something in; what was opened in another one is gone. */
  current(): WorkerProcess {
    if (this.#closed) throw new OutsideError("aborted", "the agent is shutting down");
    if (!this.#process || this.#process.ended) {
      this.#process = new WorkerProcess("side by side");
      this.#held = 0;
      this.#endWhenUnused();
    }
    return this.#process;
  }

  /** Makes a request about `path` of `process`; errors as `WorkerPool.run`. */
  async call<T>(
    process: WorkerProcess,
    operation: OperationName,
    args: readonly unknown[],
    path: string,
  ): Promise<T> {
    const refused = this.#places.refusal(operation, [path]);
    if (refused) throw refused;
    const began = this.#clock.monotonic();
    let timedOut: OutsideError | undefined;
    const limited = { clock: this.#clock, process, limitMs: OPERATION_LIMITS_MS[operation] };
    const cancel = limitOperation(limited, () => {
      timedOut = this.#places.timedOut(operation, [path], began, process);
      process.kill(new OutsideError("unavailable", "the file worker was replaced"));
    });
    try {
      const value = (await process.call(operation, args)) as T;
      this.#places.answered(path);
      return value;
    } catch (error) {
      throw timedOut ?? error;
    } finally {
      cancel();
      this.#endWhenUnused();
    }
  }

  /** Something is held open from now on. */
  opened(process: WorkerProcess): void {
    if (process !== this.#process) return;
    this.#held += 1;
    this.#cancelIdle();
  }

  /** Lets go of a handle; a worker that is gone has done so. Never throws. */
  async release(process: WorkerProcess, handle: number, path: string): Promise<void> {
    if (process === this.#process) this.#held -= 1;
    if (process.ended) return;
    await this.call(process, "handle.close", [handle], path).catch(() => {});
  }

  /** Ends it; what is under way fails. */
  close(): void {
    this.#closed = true;
    this.#end("the agent is shutting down");
  }

  /** Ends the worker when nothing was held open or requested for a while. */
  #endWhenUnused(): void {
    this.#cancelIdle();
    if (this.#held > 0 || this.#closed) return;
    this.#cancelIdle = this.#clock.alarm(IDLE_MS, () => {
      if (this.#process?.pending === 0) this.#end("the file worker was not needed");
    });
  }

  #end(why: string): void {
    this.#cancelIdle();
    this.#process?.kill(new OutsideError("aborted", why));
    this.#process = undefined;
    this.#held = 0;
  }
}

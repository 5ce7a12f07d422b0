import PQueue from "p-queue";
import type { Clock } from "../../kit/clock.ts";
import type { TaskScope } from "../../kit/scope.ts";

/** What is made first when several wait: what is further along. */
const PRIORITIES = { sandbox: 0, container: 1 } as const;

/** How long calls that are under way may go on when the agent leaves. */
export const LEAVE_MS = 5_000;

/**
 * Starts and removals at the runtime: so many at a time, the rest waits for its turn. `over` is the signal for calls
 * that are seen through once they have begun, whoever loses interest in them, and for a while even when the agent
 * leaves. containerd kills the network plugin of a call that is given up, and the plugin's next try leaves the rules
 * of the pod where they are, since the interface is gone; a start that is given up counts as a failed one.
 */
export class RuntimeCalls {
  readonly #starts: PQueue;
  readonly #removals: PQueue;
  readonly #clock: Clock;
  readonly #cutOff = new AbortController();

  constructor(parallel: number, { clock, scope }: { clock: Clock; scope: TaskScope }) {
    this.#starts = new PQueue({ concurrency: parallel });
    this.#removals = new PQueue({ concurrency: parallel });
    this.#clock = clock;
    scope.defer("calls to the runtime", () => this.#seeThrough());
  }

  /** Starts that wait for their turn. */
  get waitingStarts(): number {
    return this.#starts.size;
  }

  /** Runs `act` when it is its turn; gives the turn up when the signal comes first. */
  start<T>(
    what: keyof typeof PRIORITIES,
    signal: AbortSignal,
    act: (over: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return this.#inTurn(this.#starts, PRIORITIES[what], signal, act);
  }

  /** As `start`, for what takes something away. */
  remove(signal: AbortSignal, act: (over: AbortSignal) => Promise<void>): Promise<void> {
    return this.#inTurn(this.#removals, 0, signal, act);
  }

  async #inTurn<T>(
    queue: PQueue,
    priority: number,
    signal: AbortSignal,
    act: (over: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return queue.add(
      () => {
        signal.throwIfAborted();
        return act(this.#cutOff.signal);
      },
      { priority },
    ) as Promise<T>;
  }

  async #seeThrough(): Promise<void> {
    const idle = new AbortController();
    const late = this.#clock.sleep(LEAVE_MS, idle.signal).catch(() => {});
    await Promise.race([Promise.all([this.#starts.onIdle(), this.#removals.onIdle()]), late]);
    idle.abort();
    this.#cutOff.abort(new Error("the agent is leaving"));
  }
}

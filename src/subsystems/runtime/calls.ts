import PQueue from "p-queue";
import type { Clock } from "../../kit/clock.ts";
import type { TaskScope } from "../../kit/scope.ts";

/** What is made first when several wait: what is further along. */
const PRIORITIES = { sandbox: 0, container: 1 } as const;

/** How long a call that has begun may go on when the agent leaves, or a sandbox when its pod is not wanted any more. */
export const TIMEOUT_MS = 5_000;

/**
 * Starts and removals at the runtime: so many at a time, the rest waits for its turn. `over` is the signal for the
 * call itself: what has begun is seen through, whoever loses interest in it, and for a while even when the agent
 * leaves. containerd does not clean up well behind calls that are given up: it kills the network plugin, whose next
 * try leaves the pod's rules where they are since the interface is gone; it forgets shims; and a start counts as a
 * failed one. Only sandboxes, whose network may hang, are given up in the end.
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
    const begin = what === "sandbox" ? () => this.#patiently(signal, act) : this.#seenThrough(act);
    return inTurn(this.#starts, PRIORITIES[what], signal, begin);
  }

  /** As `start`, for what takes something away. */
  remove(signal: AbortSignal, act: (over: AbortSignal) => Promise<void>): Promise<void> {
    return inTurn(this.#removals, 0, signal, this.#seenThrough(act));
  }

  #seenThrough<T>(act: (over: AbortSignal) => Promise<T>): () => Promise<T> {
    return () => act(this.#cutOff.signal);
  }

  async #patiently<T>(signal: AbortSignal, act: (over: AbortSignal) => Promise<T>): Promise<T> {
    const patience = new AbortController();
    let calm = () => {};
    const lose = () => {
      calm = this.#clock.alarm(TIMEOUT_MS, () => patience.abort(signal.reason));
    };
    signal.addEventListener("abort", lose, { once: true });
    try {
      return await act(patience.signal);
    } finally {
      signal.removeEventListener("abort", lose);
      calm();
    }
  }

  async #seeThrough(): Promise<void> {
    const idle = new AbortController();
    const late = this.#clock.sleep(TIMEOUT_MS, idle.signal).catch(() => {});
    await Promise.race([Promise.all([this.#starts.onIdle(), this.#removals.onIdle()]), late]);
    idle.abort();
    this.#cutOff.abort(new Error("the agent is leaving"));
  }
}

async function inTurn<T>(
  queue: PQueue,
  priority: number,
  signal: AbortSignal,
  act: () => Promise<T>,
): Promise<T> {
  return queue.add(
    () => {
      signal.throwIfAborted();
      return act();
    },
    { priority },
  ) as Promise<T>;
}

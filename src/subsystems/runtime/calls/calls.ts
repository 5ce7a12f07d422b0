import type { Clock } from "../../../kit/clock.ts";
import type { SlotOrder } from "../../../kit/limits/slots.ts";
import type { TaskScope } from "../../../kit/scope.ts";
import { NEVER_ABORTED, withTimeout } from "../../../kit/within.ts";
import { IdleProcessors } from "./idle-processors.ts";
import { PacedSlots } from "./paced-slots.ts";

/** Kinds of starts; waiting containers go before waiting sandboxes, since their pod is further along. */
type Started = "sandbox" | "container";
const containersFirst: SlotOrder = (a, b) =>
  a.name === b.name ? a.oldest < b.oldest : a.name === "container";

/** How long a call that has begun may go on when the agent leaves, or the call for a sandbox when its pod is no longer desired. */
export const TIMEOUT_MS = 5_000;

/** Sandboxes and containers made at once, for each processor: more only makes all of them late. */
const STARTS_PER_CPU = 1;
const REMOVALS_PER_CPU = 2;

interface RuntimeCallsDeps {
  readonly clock: Clock;
  readonly scope: TaskScope;
  /** A file of /proc; absent or `undefined` where there is none. */
  readonly readKernel?: (path: string) => string | undefined;
}

/**
 * Starts and removals at the runtime: so many at a time (`PacedSlots`), the rest waits for its turn. `over` is the signal for the
 * call itself: what has begun is completed although its caller gives it up, and for a while even when the agent
 * leaves. containerd does not clean up well behind calls that are given up: it kills the network plugin, whose next
 * try leaves the pod's rules where they are since the interface is gone; it forgets shims; and a start counts as a
 * failed one. Only sandboxes, whose network may hang, are given up in the end.
 */
export class RuntimeCalls {
  readonly #starts: PacedSlots;
  readonly #removals: PacedSlots;
  readonly #clock: Clock;
  readonly #cutOff = new AbortController();

  /** `cpuCount`: processors that the agent may use. */
  constructor(cpuCount: number, deps: RuntimeCallsDeps) {
    const { clock, scope, readKernel = () => undefined } = deps;
    const pacing = () => ({ clock, processors: new IdleProcessors(readKernel, cpuCount) });
    this.#starts = new PacedSlots(STARTS_PER_CPU * cpuCount, {
      ...pacing(),
      order: containersFirst,
    });
    this.#removals = new PacedSlots(REMOVALS_PER_CPU * cpuCount, pacing());
    this.#clock = clock;
    scope.defer("calls to the runtime", () => this.#complete());
  }

  /** Starts that wait for their turn. */
  get waitingStarts(): number {
    return this.#starts.waiting;
  }

  /** Runs `act` when it is its turn; gives the turn up when the signal comes first. */
  start<T>(what: Started, signal: AbortSignal, act: (over: AbortSignal) => Promise<T>): Promise<T> {
    const begin = what === "sandbox" ? () => this.#untilTimeout(signal, act) : this.#completed(act);
    return this.#starts.run(what, signal, begin);
  }

  /** As `start`, for what takes something away. */
  remove(signal: AbortSignal, act: (over: AbortSignal) => Promise<void>): Promise<void> {
    return this.#removals.run("removal", signal, this.#completed(act));
  }

  #completed<T>(act: (over: AbortSignal) => Promise<T>): () => Promise<T> {
    return () => act(this.#cutOff.signal);
  }

  async #untilTimeout<T>(signal: AbortSignal, act: (over: AbortSignal) => Promise<T>): Promise<T> {
    const timeout = new AbortController();
    let cancel = () => {};
    const startTimeout = () => {
      cancel = this.#clock.alarm(TIMEOUT_MS, () => timeout.abort(signal.reason));
    };
    signal.addEventListener("abort", startTimeout, { once: true });
    try {
      return await act(timeout.signal);
    } finally {
      signal.removeEventListener("abort", startTimeout);
      cancel();
    }
  }

  async #complete(): Promise<void> {
    const timeout = { clock: this.#clock, ms: TIMEOUT_MS };
    await withTimeout(timeout, NEVER_ABORTED, () =>
      Promise.all([this.#starts.untilIdle(), this.#removals.untilIdle()]),
    );
    this.#starts.close();
    this.#removals.close();
    this.#cutOff.abort(new Error("the agent is shutting down"));
  }
}

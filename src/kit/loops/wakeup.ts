import type { Alarms } from "../clock.ts";
import { onAbort } from "../on-abort.ts";

/** Sources that wake a loop; every `Reading` is one. */
export interface Wakes {
  /** Calls `onChange` after every change until the returned function is called. */
  subscribe(onChange: () => void): () => void;
}

/** How long a wait lasts at most; `Infinity` for as long as nothing wakes it. */
interface WaitLimit {
  readonly clock: Pick<Alarms, "alarm">;
  readonly ms: number;
}

/**
 * The wait of a loop that something else can end. Waking it while it does not wait ends the next wait at once, so that
 * nothing is lost that happens between checking and waiting; any number of calls until then count as one. One loop waits.
 */
export class Wakeup {
  #isDue = false;
  #end: (() => void) | undefined;

  /** Ends the wait that is under way, else the next one. */
  wake(): void {
    if (this.#end) this.#end();
    else this.#isDue = true;
  }

  /** Resolves when it is woken, when the limit is over or when `signal` is aborted. Never rejects. */
  wait(limit: WaitLimit | undefined, signal: AbortSignal): Promise<void> {
    if (this.#isDue || signal.aborted) {
      this.#isDue = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        forget();
        this.#end = undefined;
        resolve();
      };
      const cancel =
        limit && limit.ms !== Number.POSITIVE_INFINITY
          ? limit.clock.alarm(limit.ms, end)
          : () => {};
      const forget = onAbort(signal, end);
      this.#end = end;
    });
  }
}

/** One wait that any change of `wakeOn` ends; changes from before it do not count. Otherwise as `Wakeup.wait`. */
export async function waitForChange(
  wakeOn: readonly Wakes[],
  limit: WaitLimit | undefined,
  signal: AbortSignal,
): Promise<void> {
  const wakeup = new Wakeup();
  const stops = wakeOn.map((each) => each.subscribe(() => wakeup.wake()));
  try {
    await wakeup.wait(limit, signal);
  } finally {
    for (const stop of stops) stop();
  }
}

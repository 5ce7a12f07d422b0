import type { Reading } from "./cell.ts";
import type { Clock } from "./clock.ts";

/** One node-wide loop: look, decide without side effects, act; and again when something changed. */
export interface ControlLoop<Plan> {
  readonly name: string;
  /** A change of any of these runs the loop at once. */
  readonly wakeOn: readonly Reading<unknown>[];
  /** The loop runs at least this often. */
  readonly everyMs: number;
  /** What to do; `undefined` means nothing. */
  readonly plan: () => Plan | undefined | Promise<Plan | undefined>;
  readonly act: (plan: Plan, signal: AbortSignal) => Promise<void>;
}

/** Runs `loop` until `signal` is aborted. A throw leaves it: run it in a scope with policy `restart`. */
export async function runControlLoop<Plan>(
  loop: ControlLoop<Plan>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let changed = true;
  let wake: (() => void) | undefined;
  const poke = () => {
    changed = true;
    wake?.();
  };
  const unsubscribe = loop.wakeOn.map((reading) => reading.subscribe(poke));
  signal.addEventListener("abort", poke, { once: true });
  try {
    while (!signal.aborted) {
      changed = false;
      const plan = await loop.plan();
      if (plan !== undefined) await loop.act(plan, signal);
      if (changed) continue;
      await new Promise<void>((resolve) => {
        const cancel = clock.alarm(loop.everyMs, resolve);
        wake = () => {
          cancel();
          resolve();
        };
      });
      wake = undefined;
    }
  } finally {
    signal.removeEventListener("abort", poke);
    for (const stop of unsubscribe) stop();
  }
}

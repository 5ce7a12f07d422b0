import type { Alarms } from "../clock.ts";
import { type Wakes, Wakeup } from "./wakeup.ts";

/** One node-wide loop: read, decide without side effects, act; and again when something changed. */
export interface ControlLoop<Plan> {
  readonly name: string;
  /** A change of any of these runs the loop at once; one that comes while it runs, once more afterwards. */
  readonly wakeOn: readonly Wakes[];
  /** The loop runs at least this often; asked after each run where it is a function. `Infinity`: only when woken. */
  readonly everyMs: number | (() => number);
  /** The plan; `undefined` for nothing to do. */
  readonly plan: () => Plan | undefined | Promise<Plan | undefined>;
  readonly act: (plan: Plan, signal: AbortSignal) => Promise<void>;
}

/** Runs `loop` until `signal` is aborted. A throw leaves it: run it in a scope with policy `restart`. */
export async function runControlLoop<Plan>(
  loop: ControlLoop<Plan>,
  clock: Pick<Alarms, "alarm">,
  signal: AbortSignal,
): Promise<void> {
  const wakeup = new Wakeup();
  const stops = loop.wakeOn.map((each) => each.subscribe(() => wakeup.wake()));
  try {
    while (!signal.aborted) {
      const plan = await loop.plan();
      if (plan !== undefined) await loop.act(plan, signal);
      const ms = typeof loop.everyMs === "number" ? loop.everyMs : loop.everyMs();
      await wakeup.wait({ clock, ms }, signal);
    }
  } finally {
    for (const stop of stops) stop();
  }
}

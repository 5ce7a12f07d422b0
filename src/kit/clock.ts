import type { Branded } from "./brand.ts";
import { onAbort } from "./on-abort.ts";

/** Milliseconds of a clock that never steps; its zero has no meaning. For deadlines, periods, back-off. */
export type MonotonicMs = Branded<number, "MonotonicMs">;

/** Milliseconds since the Unix epoch. For timestamps that people or the API read. */
export type WallMs = Branded<number, "WallMs">;

/** Wall and monotonic time, and waiting. Everything below `Outside` gets time from here only. */
export interface Clock {
  monotonic(): MonotonicMs;
  wall(): WallMs;
  /** Calls `fire` once, `delayMs` from now or as soon as possible after; the result cancels it. */
  alarm(delayMs: number, fire: () => void): () => void;
  /** Resolves after `ms`; rejects with the signal's reason as soon as `signal` is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** `sleep` for any clock that has alarms. */
export function sleepWith(
  clock: Pick<Clock, "alarm">,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const forget = onAbort(signal, () => {
      cancel();
      reject(signal.reason as Error);
    });
    const cancel = clock.alarm(ms, () => {
      forget();
      resolve();
    });
  });
}

/** Node's timers cannot hold more than this; longer waits are taken in pieces. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clock of the machine. */
export function createSystemClock(): Clock {
  const alarm = (delayMs: number, fire: () => void): (() => void) => {
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number) => {
      const piece = Math.min(Math.max(leftMs, 0), LONGEST_TIMER_MS);
      timer = setTimeout(() => {
        if (leftMs > piece) arm(leftMs - piece);
        else fire();
      }, piece);
    };
    // Node cuts off fractions: it would fire up to a millisecond too early, and be asked again.
    arm(Math.ceil(delayMs));
    return () => clearTimeout(timer);
  };
  const clock: Clock = {
    monotonic: () => performance.now() as MonotonicMs,
    wall: () => Date.now() as WallMs,
    alarm,
    sleep: (ms, signal) => sleepWith(clock, ms, signal),
  };
  return clock;
}

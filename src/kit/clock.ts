import type { Branded } from "./brand.ts";
import { onAbort } from "./on-abort.ts";
import { AlarmCoalescer } from "./timing/alarm-coalescer.ts";
import { LONGEST_TIMER_MS, timerMs } from "./timing/bounded-durations.ts";

/** Milliseconds of a clock that never steps; its zero has no meaning. For deadlines, periods, back-off. */
export type MonotonicMs = Branded<number, "MonotonicMs">;

/** Milliseconds since the Unix epoch. For timestamps that people or the API read. */
export type WallMs = Branded<number, "WallMs">;

/** Waiting. */
export interface Alarms {
  /** Calls `fire` once, `delayMs` from now or as soon as possible after; the result cancels it. */
  alarm(delayMs: number, fire: () => void): () => void;
  /** Resolves after `ms`; rejects with the signal's reason as soon as `signal` is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/**
 * Timer coalescing: for loops that only have to run about as often as they say, so that one waking serves many. A
 * delay that is a multiple of 5, 10, 30 or 60 s ends at such a multiple of the process's time: the first one takes
 * between half and one and a half of the longest that fits, those after it the delay. Others from 50 s on end up to 2.5 s
 * earlier or later, and short ones on time. In a simulation all end on time.
 */
export interface CoalescingAlarms extends Alarms {
  /** How long a delay of `ms` that begins now takes. */
  delayMs(ms: number): number;
}

/** Wall and monotonic time, and waiting. Everything below `Outside` gets time from here only. */
export interface Clock extends Alarms {
  monotonic(): MonotonicMs;
  wall(): WallMs;
  readonly coalesced: CoalescingAlarms;
}

/** `sleep` for any clock that has alarms. */
export function sleepWith(
  clock: Pick<Alarms, "alarm">,
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

/**
 * Calls `fire` once after `delayMs`, however long that is; the result cancels it. Waits that are longer than Node's
 * timers can hold are taken in pieces.
 */
export function startTimer(delayMs: number, fire: () => void): () => void {
  if (!(delayMs > LONGEST_TIMER_MS)) {
    const timer = setTimeout(fire, timerMs(delayMs));
    return () => clearTimeout(timer);
  }
  let timer: NodeJS.Timeout;
  const arm = (leftMs: number) => {
    const piece = timerMs(leftMs);
    timer = setTimeout(() => {
      if (leftMs > piece) arm(leftMs - piece);
      else fire();
    }, piece);
  };
  arm(delayMs);
  return () => clearTimeout(timer);
}

const monotonicMs = () => performance.now() as MonotonicMs;

/** The clock of the machine. `phaseMs`: by how much the moments of its coalesced alarms differ from those of other processes. */
export function createSystemClock({ phaseMs = 0 } = {}): Clock {
  const coalescer = new AlarmCoalescer({
    monotonic: monotonicMs,
    alarm: startTimer,
    phaseMs: Math.floor(phaseMs),
  });
  const clock: Clock = {
    monotonic: monotonicMs,
    wall: () => Date.now() as WallMs,
    alarm: startTimer,
    sleep: (ms, signal) => sleepWith(clock, ms, signal),
    coalesced: {
      delayMs: (ms) => coalescer.delayMs(ms),
      alarm: (delayMs, fire) => coalescer.alarm(delayMs, fire),
      sleep: (ms, signal) => sleepWith(coalescer, ms, signal),
    },
  };
  return clock;
}

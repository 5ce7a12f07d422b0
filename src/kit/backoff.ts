// pure
import type { MonotonicMs } from "./clock.ts";

/** First and longest delay of a back-off, in milliseconds. */
export interface BackoffPolicy {
  readonly initialMs: number;
  readonly maxMs: number;
  /** An entry is forgotten when the event comes later than this after the last raise; twice `maxMs` unless given. */
  readonly forgetMs?: number;
}

/** One key's back-off: the delay now in force and when it was last raised (on the caller's clock). */
export interface BackoffEntry {
  readonly delayMs: number;
  readonly lastUpdate: number;
}

/** Default when no other time is given (client-go flowcontrol.Backoff). */
const FORGET_AFTER_MAXIMA = 2;

/** Whether `entry` no longer counts for an event at `eventAt` (client-go flowcontrol.Backoff hasExpired). */
function backoffExpired(entry: BackoffEntry, eventAt: number, policy: BackoffPolicy): boolean {
  return eventAt - entry.lastUpdate > (policy.forgetMs ?? policy.maxMs * FORGET_AFTER_MAXIMA);
}

/** Beyond this an event lies in the future because the clock was set back, not because clocks differ a little. */
const SET_BACK_MS = 1_000;

/**
 * Milliseconds still to wait after an event at `eventAt`; 0 when nothing has to be waited for
 * (client-go flowcontrol.Backoff IsInBackOffSince). An event of the future is from before the clock was set back: how long
 * ago it was cannot be known, and nothing waits until the clock has come there again.
 */
export function backoffLeftMs(
  entry: BackoffEntry | undefined,
  eventAt: number,
  now: number,
  policy: BackoffPolicy,
): number {
  if (!entry || backoffExpired(entry, eventAt, policy)) return 0;
  if (eventAt - now > SET_BACK_MS) return 0;
  return Math.max(0, eventAt + entry.delayMs - now);
}

/** The entry after one more attempt: initial delay first, then doubled up to the maximum (Backoff.Next). */
export function backoffNext(
  entry: BackoffEntry | undefined,
  eventAt: number,
  now: number,
  policy: BackoffPolicy,
): BackoffEntry {
  const initialMs = Math.min(policy.initialMs, policy.maxMs);
  if (!entry || backoffExpired(entry, eventAt, policy))
    return { delayMs: initialMs, lastUpdate: now };
  return { delayMs: Math.min(entry.delayMs * 2, policy.maxMs), lastUpdate: now };
}

/** Delay before try number `failures` + 1 of something that failed `failures` times in a row. */
export function retryDelayMs(failures: number, policy: BackoffPolicy): number {
  if (failures <= 0) return 0;
  return Math.min(policy.initialMs * 2 ** Math.min(failures - 1, 30), policy.maxMs);
}

/** `at` plus the retry delay. */
export function retryAt(at: MonotonicMs, failures: number, policy: BackoffPolicy): MonotonicMs {
  return (at + retryDelayMs(failures, policy)) as MonotonicMs;
}

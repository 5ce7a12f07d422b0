import type { Clock } from "./clock.ts";
import { OutsideError } from "./errors.ts";

/** How long something may take, and what it is in the message of the error when it takes longer. */
export interface TimeLimit {
  readonly clock: Clock;
  readonly ms: number;
  readonly what: string;
}

/**
 * Resolves or rejects as `work` does, but not later than the limit: then with an `OutsideError` "deadline".
 * Rejects with the signal's reason as soon as `signal` is aborted. Work that ignores the signal it is given is
 * left behind, and its result is ignored.
 */
export async function within<T>(
  { clock, ms, what }: TimeLimit,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const own = new AbortController();
  const { promise: over, reject } = Promise.withResolvers<never>();
  const end = (reason: Error) => {
    reject(reason);
    own.abort(reason);
  };
  const onAbort = () => end(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  const cancel = clock.alarm(ms, () =>
    end(new OutsideError("deadline", `${what} did not answer within ${ms / 1000} s`)),
  );
  try {
    return await Promise.race([work(own.signal), over]);
  } finally {
    cancel();
    signal.removeEventListener("abort", onAbort);
  }
}

/** The result, or the signal's reason as soon as that is aborted; what makes the result goes on. */
export async function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([aborted, result]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

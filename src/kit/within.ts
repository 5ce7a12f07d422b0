import type { Clock } from "./clock.ts";
import { OutsideError } from "./errors.ts";
import { onAbort } from "./on-abort.ts";

/** A signal that is never aborted, for waits that only their timeout or their result ends. */
export const NEVER_ABORTED: AbortSignal = new AbortController().signal;

/** How long a wait may last. */
export interface Timeout {
  readonly clock: Pick<Clock, "alarm">;
  readonly ms: number;
}

/** How long something may take, and the message of the error when it takes longer: whole, or with what did not answer. */
type TimeLimit = Timeout & ({ readonly what: string } | { readonly message: string });

/** How a wait with a timeout has ended. */
type Timed<T> = { readonly kind: "done"; readonly value: T } | { readonly kind: "timedOut" };

/**
 * Waits for `work`, but not longer than the timeout, and resolves with what came first. Rejects as `work` does, and
 * with the signal's reason as soon as `signal` is aborted. The signal that `work` is given is aborted when the wait
 * ends before it; work that ignores that is left behind, and its result is ignored.
 */
export async function withTimeout<T>(
  { clock, ms }: Timeout,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<Timed<T>> {
  signal.throwIfAborted();
  const own = new AbortController();
  const { promise: over, resolve, reject } = Promise.withResolvers<Timed<never>>();
  const forget = onAbort(signal, () => {
    reject(signal.reason as Error);
    own.abort(signal.reason);
  });
  const cancel = clock.alarm(ms, () => {
    resolve({ kind: "timedOut" });
    own.abort(new OutsideError("deadline", `not done within ${ms / 1000} s`));
  });
  const done = async (): Promise<Timed<T>> => ({ kind: "done", value: await work(own.signal) });
  try {
    return await Promise.race([done(), over]);
  } finally {
    cancel();
    forget();
  }
}

/** As `withTimeout`, for what fails when it takes longer: throws an `OutsideError` "deadline" then. */
export async function within<T>(
  limit: TimeLimit,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = await withTimeout(limit, signal, work);
  if (ended.kind === "done") return ended.value;
  const message =
    "message" in limit ? limit.message : `${limit.what} did not answer within ${limit.ms / 1000} s`;
  throw new OutsideError("deadline", message);
}

/** The result, or the signal's reason as soon as that is aborted; what makes the result goes on. */
export async function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(signal.reason as Error);
  if (signal.aborted) giveUp();
  const forget = onAbort(signal, giveUp);
  try {
    return await Promise.race([aborted, result]);
  } finally {
    forget();
  }
}

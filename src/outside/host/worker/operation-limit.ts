import type { Clock } from "../../../kit/clock.ts";
import type { WorkerProcess } from "./worker-process.ts";

/**
 * How many times its limit an operation may take while its worker is not blocked. On a machine without enough CPU a worker
 * that is replaced is followed by one that has to start as well, and nothing gets done.
 */
export const LIMITS_WITHOUT_CPU = 6;

/** An operation that was sent to a worker. */
interface LimitedOperation {
  readonly clock: Pick<Clock, "alarm">;
  readonly process: Pick<WorkerProcess, "isBlocked">;
  /** How long it may take, in milliseconds. */
  readonly limitMs: number;
}

/** Calls `then` after a time, once what has arrived by then is read: this process may have been late itself. The result cancels it. */
function afterReads(clock: Pick<Clock, "alarm">, afterMs: number, then: () => void): () => void {
  let cancel = clock.alarm(afterMs, () => {
    cancel = clock.alarm(0, then);
  });
  return () => cancel();
}

/** When to check whether a worker is blocked, and how. */
interface BlockCheck {
  readonly clock: Pick<Clock, "alarm">;
  readonly isBlocked: () => boolean;
  /** In milliseconds. */
  readonly afterMs: number;
}

/**
 * Calls `judge` after a time with whether a worker is blocked, once what has arrived by then is read. One that has just
 * answered waits for the next request, which seems the same: between the last read and the check, this process may have been
 * without a CPU. So a worker that seems blocked is checked again after another read, which finds such an answer. The result
 * cancels it.
 */
export function checkAfterReads(
  { clock, isBlocked, afterMs }: BlockCheck,
  judge: (isBlocked: boolean) => void,
): () => void {
  let cancel = afterReads(clock, afterMs, () => {
    if (!isBlocked()) judge(false);
    else cancel = afterReads(clock, 0, () => judge(isBlocked()));
  });
  return () => cancel();
}

/**
 * Calls `giveUp` when an operation has run into its limit: its worker waits in a system call, or has not answered for
 * `LIMITS_WITHOUT_CPU` times as long. The result cancels it.
 */
export function limitOperation(operation: LimitedOperation, giveUp: () => void): () => void {
  const { clock, process, limitMs } = operation;
  let limits = 0;
  let cancel = () => {};
  const judge = (isBlocked: boolean) => {
    limits += 1;
    if (limits >= LIMITS_WITHOUT_CPU || isBlocked) giveUp();
    else arm();
  };
  const arm = () => {
    const check = { clock, isBlocked: () => process.isBlocked(), afterMs: limitMs };
    cancel = checkAfterReads(check, judge);
  };
  arm();
  return () => cancel();
}

/** The end of a log, as far as one start of a program has written it. */
import { existsSync, readFileSync, statSync } from "node:fs";

const TAIL_LINES = 8;
const TAIL_BYTES = 8 * 1024;

/** Present size of the log in bytes: later lines belong to the next start. */
export function endOfLog(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * The last lines that were written behind byte `from`, `lines` at most; empty when there are none. A log that is
 * shorter now was begun again.
 */
export function logTail(path: string, from: number, lines: number = TAIL_LINES): string {
  if (!existsSync(path)) return "";
  const whole = readFileSync(path);
  const text = whole.subarray(from <= whole.length ? from : 0).toString("utf8");
  return text.slice(-TAIL_BYTES).trim().split("\n").slice(-lines).join("\n");
}

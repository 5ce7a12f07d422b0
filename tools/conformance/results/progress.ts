// pure
/** Where a run is, read from what ginkgo prints. */

/** Counts of a run that goes on. */
export interface Progress {
  readonly total: number;
  readonly done: number;
  readonly failed: number;
}

export const NOTHING_YET: Progress = { total: 0, done: 0, failed: 0 };
const SECONDS_A_MINUTE = 60;

/** The counts after one more line. */
export function progressAfter(before: Progress, line: string): Progress {
  const [, total] = /^Will run (\d+) of \d+ specs/.exec(line) ?? [];
  if (total !== undefined) return { ...before, total: Number(total) };
  if (/^(?:• |S )\[/.test(line) === false) return before;
  const failed = /^• \[(?:FAILED|PANICKED|TIMEDOUT|INTERRUPTED)/.test(line) ? 1 : 0;
  return { ...before, done: before.done + 1, failed: before.failed + failed };
}

/** Like `80 of 577 specs, 3 failed, 21 min left (until about 08:12)`. */
export function progressText(progress: Progress, seconds: number, now: Date): string {
  const { total, done, failed } = progress;
  const text = `${done} of ${total || "?"} specs, ${failed} failed`;
  if (done === 0 || total === 0) return text;
  const left = (seconds / done) * (total - done);
  const end = new Date(now.getTime() + left * 1000).toTimeString().slice(0, 5);
  return `${text}, ${Math.ceil(left / SECONDS_A_MINUTE)} min left (until about ${end})`;
}

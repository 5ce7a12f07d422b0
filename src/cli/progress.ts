/** Shows how far something has come: a bar on a terminal, a line now and then elsewhere. */
import type { OutputStream } from "../client/terminal-streams.ts";
import { humanBytes } from "../present/amounts.ts";

/** How far something has come. */
export interface Progress {
  readonly doneBytes: number;
  /** 0 as long as it is not known. */
  readonly totalBytes: number;
}

/** A line that is written again and again until it is closed. */
interface ProgressLine {
  show(progress: Progress): void;
  close(): void;
}

const BAR_COLUMNS = 30;
const FRAME_MS = 100;
/** Between two lines where there is no terminal. */
const LINE_MS = 5_000;
const CLEAR_LINE = "\r\u001b[K";

/** `[=========>          ]  45%  22.5 MiB of 50 MiB`; without a total only what is done. */
function progressText({ doneBytes, totalBytes }: Progress): string {
  if (totalBytes <= 0) return humanBytes(doneBytes);
  const share = Math.min(1, doneBytes / totalBytes);
  const filled = Math.round(share * BAR_COLUMNS);
  const bar = `${"=".repeat(filled)}${filled < BAR_COLUMNS ? ">" : ""}`.padEnd(BAR_COLUMNS + 1);
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  return `[${bar.slice(0, BAR_COLUMNS)}] ${percent}  ${humanBytes(doneBytes)} of ${humanBytes(totalBytes)}`;
}

/** Progress of what `what` names, written to `stream`. */
export function createProgressLine(what: string, stream: OutputStream): ProgressLine {
  const onTerminal = stream.isTTY === true;
  let shownAt = onTerminal ? Number.NEGATIVE_INFINITY : performance.now();
  return {
    show: (progress) => {
      const now = performance.now();
      if (now - shownAt < (onTerminal ? FRAME_MS : LINE_MS)) return;
      shownAt = now;
      const text = `${what}  ${progressText(progress)}`;
      stream.write(onTerminal ? `${CLEAR_LINE}${text}` : `${text}\n`);
    },
    close: () => {
      if (onTerminal) stream.write(CLEAR_LINE);
    },
  };
}

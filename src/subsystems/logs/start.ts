import { nanosFromWall, parseTimestampNanos } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import type { OpenFile } from "../../outside/serving.ts";
import { FragmentReader, HEAD_BYTES, type LogStream, readHead } from "./fragments.ts";
import type { Segment } from "./segments.ts";

/** Position at which reading of a log begins. */
export interface Start {
  /** Index of the first segment to read. */
  readonly segment: number;
  readonly offset: number;
  /** Lines to leave out from there on. */
  readonly skipLines: number;
}

/** All there is. */
export const FROM_THE_BEGINNING: Start = { segment: 0, offset: 0, skipLines: 0 };

/** A segment that is held open, so that renaming or removing it does not matter. */
export interface HeldSegment extends Segment {
  readonly file: OpenFile;
}

const BLOCK_BYTES = 64 * 1024;
/** Blocks grow up to this towards the beginning: long lines take many of them. */
const MAX_BLOCK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
/** Lines of the two streams may stand a little out of order, and clocks of files are coarse. */
const SLACK_MS = 1_000;

/** Counts lines from the end of a log towards its beginning. Fragments of one line count once. */
class TailCounter {
  readonly #stream: LogStream | undefined;
  readonly #seen = new Set<LogStream>();
  #left: number;

  constructor(lines: number, stream: LogStream | undefined) {
    this.#left = lines;
    this.#stream = stream;
  }

  /** Lines still to be rendered. */
  get left(): number {
    return this.#left;
  }

  /** Takes what stands before all that was taken; `true` when it belongs to a line too many. */
  isTooMany(head: { readonly stream: LogStream; readonly partial: boolean } | undefined): boolean {
    if (!head || (this.#stream !== undefined && head.stream !== this.#stream)) return false;
    // A fragment that goes on belongs to a line that was counted, unless it is the last of its stream.
    const begins = !head.partial || !this.#seen.has(head.stream);
    this.#seen.add(head.stream);
    if (!begins) return false;
    if (this.#left === 0) return true;
    this.#left -= 1;
    return false;
  }

  /** Takes `lines` whole lines at once. */
  take(lines: number): void {
    this.#left = Math.max(0, this.#left - lines);
  }
}

/** Finds the position at which the last `lines` lines begin. */
export async function findTail(
  segments: readonly HeldSegment[],
  lines: number,
  stream: LogStream | undefined,
): Promise<Start> {
  const counter = new TailCounter(lines, stream);
  for (const [at, { zipped, file, sizeBytes }] of [...segments.entries()].reverse()) {
    if (zipped) {
      const total = await countLines(file, stream);
      if (total >= counter.left) return { segment: at, offset: 0, skipLines: total - counter.left };
      counter.take(total);
      continue;
    }
    const offset = await tailOffset(file, sizeBytes, counter);
    if (offset !== undefined) return { segment: at, offset, skipLines: 0 };
  }
  return FROM_THE_BEGINNING;
}

/** Offset of the lines that `counter` still needs; `undefined` when the file has too few. */
async function tailOffset(
  file: OpenFile,
  size: number,
  counter: TailCounter,
): Promise<number | undefined> {
  let start = size;
  for await (const { offset, head } of headsBackwards(file, size)) {
    if (counter.isTooMany(readHead(head))) return start;
    start = offset;
  }
  return undefined;
}

/** The beginnings of all lines, last line first. */
async function* headsBackwards(
  file: OpenFile,
  size: number,
): AsyncGenerator<{ readonly offset: number; readonly head: Uint8Array }, void, void> {
  let blockBytes = BLOCK_BYTES;
  for (let until = size; until > 0; blockBytes = Math.min(blockBytes * 2, MAX_BLOCK_BYTES)) {
    const from = Math.max(0, until - blockBytes);
    // With the head of a line that begins at the end of the block.
    const view = await file.read(from, Math.min(until + HEAD_BYTES, size) - from);
    const block = view.subarray(0, until - from);
    for (
      let at = block.lastIndexOf(NEWLINE);
      at >= 0;
      at = at === 0 ? -1 : block.lastIndexOf(NEWLINE, at - 1)
    ) {
      const offset = from + at + 1;
      if (offset < size) yield { offset, head: headAt(view, at + 1) };
    }
    if (from === 0) yield { offset: 0, head: headAt(view, 0) };
    until = from;
  }
}

function headAt(bytes: Uint8Array, at: number): Uint8Array {
  const head = bytes.subarray(at, at + HEAD_BYTES);
  const end = head.indexOf(NEWLINE);
  return end < 0 ? head : head.subarray(0, end);
}

/** Whole lines of a zipped segment. */
async function countLines(file: OpenFile, stream: LogStream | undefined): Promise<number> {
  const reader = new FragmentReader();
  let lines = 0;
  for await (const bytes of file.unzipped()) {
    for (const fragment of reader.read(bytes))
      if (fragment.ends && (stream === undefined || fragment.stream === stream)) lines += 1;
  }
  return lines;
}

/** Position for lines since `sinceNanos`: never too late, possibly a little early. */
export async function findSince(
  segments: readonly HeldSegment[],
  sinceNanos: bigint,
): Promise<Start> {
  const earliest = sinceNanos - nanosFromWall(SLACK_MS as WallMs);
  const first = segments.findIndex(
    ({ modifiedMs }) => nanosFromWall(modifiedMs as WallMs) >= earliest,
  );
  const segment = first < 0 ? segments.length - 1 : first;
  const candidate = segments[segment];
  if (!candidate || candidate.zipped) return { ...FROM_THE_BEGINNING, segment };
  return { segment, offset: await searchTime(candidate.file, earliest), skipLines: 0 };
}

/** Beginning of a line that is surely not later than the first one from `earliest` on. */
async function searchTime(file: OpenFile, earliest: bigint): Promise<number> {
  let low = 0;
  let high = await file.sizeBytes();
  while (high - low > BLOCK_BYTES) {
    const middle = Math.floor((low + high) / 2);
    const block = await file.read(middle, BLOCK_BYTES);
    const newline = block.indexOf(NEWLINE);
    const head = newline < 0 ? undefined : readHead(headAt(block, newline + 1));
    const time = head && parseTimestampNanos(head.time);
    // Without a readable line here there is nothing to go by.
    if (time === undefined) return low;
    if (time < earliest) low = middle + newline + 1;
    else high = middle;
  }
  return low;
}

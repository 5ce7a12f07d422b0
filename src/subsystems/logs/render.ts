// pure
import { parseTimestampNanos } from "../../api/text/timestamps.ts";
import { type Fragment, FragmentReader, type LogStream } from "./fragments.ts";

/** Filter and format of a log. */
export interface RenderRules {
  /** Each line begins with its time. */
  readonly timestamps: boolean;
  /** Lines from then on, nanoseconds since the epoch. */
  readonly sinceNanos?: bigint;
  /** Only what went to this stream. */
  readonly stream?: LogStream;
  /** Not a byte more than this. */
  readonly limitBytes?: number;
}

/** A line of several fragments is put together up to this size; a longer one is passed on in pieces. */
const JOINED_BYTES = 1024 * 1024;
const NEWLINE = Uint8Array.of(0x0a);

interface OpenLine {
  readonly time: string;
  readonly pieces: Uint8Array[];
  size: number;
  /** Its beginning was passed on already. */
  begun: boolean;
}

/** Turns the bytes of a log into what is shown. Lines of both streams stay whole and in their order. */
export class LogRenderer {
  readonly #rules: RenderRules;
  readonly #open = new Map<LogStream, OpenLine>();
  #reader = new FragmentReader();
  #out: Uint8Array[] = [];
  #left: number;
  #skipLines = 0;
  #skipThrough: bigint | undefined;
  #lastTime: string | undefined;

  constructor(rules: RenderRules) {
    this.#rules = rules;
    this.#left = rules.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Whether the limit of bytes is reached: nothing more will come. */
  get full(): boolean {
    return this.#left <= 0;
  }

  /** Time of the latest line that was read, shown or not. */
  get lastTime(): string | undefined {
    return this.#lastTime;
  }

  /** Leaves out the next `count` lines of those that would be shown. */
  skipLines(count: number): void {
    this.#skipLines = count;
  }

  /** From now on leaves out what is not later than what was read: it may come again. */
  skipKnown(): void {
    this.#reader = new FragmentReader();
    if (this.#lastTime !== undefined) this.#skipThrough = parseTimestampNanos(this.#lastTime);
  }

  push(bytes: Uint8Array): void {
    for (const fragment of this.#reader.read(bytes)) this.#take(fragment);
  }

  /** Passes on lines whose end never came. */
  finish(): void {
    for (const fragment of this.#reader.end()) this.#take(fragment);
    for (const [stream, line] of this.#open) this.#close(stream, line, false);
  }

  /** Output that has become ready since the last call. */
  take(): readonly Uint8Array[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  #take(fragment: Fragment): void {
    const { time, stream, content, ends } = fragment;
    this.#lastTime = time;
    const known = this.#open.get(stream);
    const line = known ?? { time, pieces: [], size: 0, begun: false };
    if (!known) this.#open.set(stream, line);
    line.pieces.push(content);
    line.size += content.length;
    if (ends) this.#close(stream, line, true);
    else if (line.size > JOINED_BYTES) {
      // Its bytes belong to the portion that was pushed, which the caller may use again only after `take`.
      if (this.#isShown(stream, line)) this.#pass(line);
      line.pieces.length = 0;
      line.size = 0;
      line.begun = true;
    } else line.pieces[line.pieces.length - 1] = content.slice();
  }

  #close(stream: LogStream, line: OpenLine, newline: boolean): void {
    this.#open.delete(stream);
    if (this.#isShown(stream, line)) {
      this.#pass(line);
      if (newline) this.#emit(NEWLINE);
    }
    const { stream: only } = this.#rules;
    if (this.#skipLines > 0 && (only === undefined || only === stream)) this.#skipLines -= 1;
  }

  #pass(line: OpenLine): void {
    if (this.#rules.timestamps && !line.begun)
      this.#emit(new TextEncoder().encode(`${nineDigits(line.time)} `));
    for (const piece of line.pieces) this.#emit(piece);
  }

  #isShown(stream: LogStream, { time }: OpenLine): boolean {
    const { sinceNanos, stream: only } = this.#rules;
    if (this.#skipLines > 0 || (only !== undefined && only !== stream)) return false;
    if (sinceNanos === undefined && this.#skipThrough === undefined) return true;
    const at = parseTimestampNanos(time);
    if (at === undefined) return true;
    if (this.#skipThrough !== undefined && at <= this.#skipThrough) return false;
    return sinceNanos === undefined || at >= sinceNanos;
  }

  #emit(bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#left <= 0) return;
    const some = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    this.#left -= some.length;
    this.#out.push(some);
  }
}

/** The time with all nine digits of its fraction, in its own zone. */
export function nineDigits(time: string): string {
  const match = /^([^.]*?)(?:\.(\d*))?(Z|[+-]\d{2}:\d{2})$/.exec(time);
  if (!match) return time;
  const [, seconds = "", fraction = "", zone = ""] = match;
  return `${seconds}.${fraction.slice(0, 9).padEnd(9, "0")}${zone}`;
}

import type { Clock } from "../clock.ts";
import { SerialQueue } from "../limits/serial-queue.ts";
import type { StateFile, StateFiles } from "./state-files.ts";

/** Folder and bounds of the log. */
export interface SegmentLogOptions {
  /** Absolute path of the folder; made when missing. Several logs may share it. */
  readonly folder: string;
  /** Files are called `<prefix>-<number>.jsonl`. */
  readonly prefix: string;
  /** Size at which a new segment is begun. */
  readonly segmentBytes: number;
  /** Segments kept, the one being written included. */
  readonly segments: number;
  /** How the files are reported when they are damaged. */
  readonly file: Pick<StateFile, "name" | "holds" | "important">;
  /** Whether a text is a line of this log. */
  readonly isLine: (line: string) => boolean;
}

interface SegmentLogDeps {
  readonly state: StateFiles;
  readonly clock: Clock;
}

/** Lines wait this long for others before they are written. */
const FLUSH_MS = 50;
/** Lines that may wait while the disk does not take them; the oldest go first. */
const WAITING_LINES = 10_000;
/** A segment may be longer than it should by the lines that came together; what is longer still is not ours. */
const READ_SLACK_BYTES = 16 * 1024 * 1024;
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

interface WaitingLine {
  readonly segment: number;
  readonly line: string;
}

/**
 * Lines on disk that go round: appended to numbered files, of which the oldest is removed when there are
 * too many. Appending never waits and never throws; a line that was torn by a crash or a full disk costs
 * that line only.
 */
export class SegmentLog {
  readonly #options: SegmentLogOptions;
  readonly #deps: SegmentLogDeps;
  readonly #name: RegExp;
  #waiting: WaitingLine[] = [];
  #segment = 0;
  #segmentBytes = 0;
  /** Whether the file may end in the middle of a line. */
  #torn = false;
  #cancelFlush: (() => void) | undefined;
  readonly #writes = new SerialQueue();
  #lost = 0;

  constructor(options: SegmentLogOptions, deps: SegmentLogDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#name = new RegExp(`^${options.prefix}-(\\d{8})\\.jsonl$`);
  }

  /** Lines that could not be kept because the disk did not take them. */
  get lost(): number {
    return this.#lost;
  }

  /** Number of the segment that the next line goes into. */
  get segment(): number {
    return this.#segmentBytes >= this.#options.segmentBytes ? this.#segment + 1 : this.#segment;
  }

  /**
   * Finds the end of what a previous run wrote and resolves with the lines of its last segment; to be
   * called once before anything else. Segments that are damaged are set aside.
   */
  async open(): Promise<readonly string[]> {
    const { state } = this.#deps;
    const { folder, isLine } = this.#options;
    await state.makeFolder(this.#fileAt(folder), FOLDER_MODE);
    const segments = await this.#segments({ setAside: true });
    const last = segments.at(-1);
    if (last === undefined) return [];
    const limits = { maxBytes: this.#maxBytes, mode: FILE_MODE };
    for (const earlier of segments.slice(0, -1))
      await state.readLines(this.#file(earlier), limits, isLine);
    const text = await state.readLines(this.#file(last), limits, isLine);
    this.#segment = last;
    this.#segmentBytes = text.length;
    this.#torn = text !== "" && !text.endsWith("\n");
    return linesOf(text);
  }

  /** Keeps one line; it must not hold a line break. One that would not be read again is not kept. */
  append(line: string): void {
    // It would be damage at the next start.
    if (!this.#options.isLine(line)) {
      this.#lost += 1;
      return;
    }
    this.#segment = this.segment;
    if (this.#segmentBytes >= this.#options.segmentBytes) this.#segmentBytes = 0;
    this.#segmentBytes += line.length + 1;
    this.#waiting.push({ segment: this.#segment, line });
    if (this.#waiting.length > WAITING_LINES) {
      this.#waiting.shift();
      this.#lost += 1;
    }
    this.#cancelFlush ??= this.#deps.clock.alarm(FLUSH_MS, () => {
      this.#cancelFlush = undefined;
      void this.flush();
    });
  }

  /** Writes what waits; resolves when it is on disk or was given up. */
  flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    return this.#writes.run(() => this.#write());
  }

  /** All lines there are, oldest first. */
  async read(): Promise<readonly string[]> {
    await this.flush();
    const lines: string[] = [];
    for (const segment of await this.#segments())
      for (const line of linesOf(await this.#readSegment(segment))) lines.push(line);
    return lines;
  }

  async #write(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < waiting.length; ) {
      const segment = waiting[at]?.segment ?? 0;
      const batch: string[] = [];
      for (; waiting[at]?.segment === segment; at += 1) batch.push(waiting[at]?.line ?? "");
      await this.#writeBatch(segment, batch);
    }
  }

  async #writeBatch(segment: number, lines: readonly string[]): Promise<void> {
    const text = `${this.#torn ? "\n" : ""}${lines.join("\n")}\n`;
    try {
      await this.#freeSpace(segment);
      await this.#deps.state.append(this.#file(segment), text, FILE_MODE);
      this.#torn = false;
    } catch {
      this.#torn = true;
      this.#lost += lines.length;
    }
  }

  /** Removes what is too old once `segment` is written to. */
  async #freeSpace(segment: number): Promise<void> {
    const oldest = segment - this.#options.segments;
    if (oldest < 0) return;
    const segments = await this.#segments();
    if (segments.includes(segment)) return;
    for (const old of segments) if (old <= oldest) await this.#deps.state.remove(this.#file(old));
  }

  async #segments({ setAside } = { setAside: false }): Promise<readonly number[]> {
    const { state } = this.#deps;
    const numbers: number[] = [];
    for (const { name, kind } of await state.list(this.#fileAt(this.#options.folder))) {
      const match = this.#name.exec(name);
      if (!match) continue;
      const segment = Number(match[1]);
      const isFile = kind === "file" || kind === "link";
      if (isFile || (setAside && !(await state.setAside(this.#file(segment), "it is not a file"))))
        numbers.push(segment);
    }
    return numbers.sort((a, b) => a - b);
  }

  /** Readable lines of a segment; reading the log of a running agent does not change it. */
  #readSegment(segment: number): Promise<string> {
    return this.#deps.state.peek(this.#file(segment), this.#maxBytes);
  }

  get #maxBytes(): number {
    return this.#options.segmentBytes + READ_SLACK_BYTES;
  }

  #file(segment: number): StateFile {
    const { folder, prefix } = this.#options;
    const path = `${folder}/${prefix}-${String(segment).padStart(8, "0")}.jsonl`;
    return { ...this.#options.file, path, series: `${folder}/${prefix}-*.jsonl` };
  }

  #fileAt(path: string): StateFile {
    return { ...this.#options.file, path };
  }
}

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}

/**
 * Values by key on disk, in one file that is appended to. Owns: the file. In: which keys have changed. Out: what a
 * previous run kept. Invariants: of a key the last line counts; a value that changes while others are written is
 * written once with the next ones; a torn last line costs that line only; the file is rewritten before what is old in
 * it outweighs what counts; no file is written that is too large to be read back.
 */
import { OutsideError } from "../errors.ts";
import { NO_LINE } from "./sort-lines.ts";
import type { StateFile, StateFiles } from "./state-files.ts";

/** What is kept, and where. */
interface KeyedLogOptions<T> {
  readonly file: StateFile;
  /** The value as it is now; `undefined` when the key has none any more. */
  readonly valueOf: (key: string) => T | undefined;
  /** All keys that have a value now. */
  readonly keys: () => Iterable<string>;
  /** A value that was read back; `undefined` when it makes no sense. */
  readonly decode: (value: unknown) => T | undefined;
  /** Size of the largest file that is written and read back; default 500 MiB. */
  readonly maxBytes?: number;
}

const FORMAT = 1;
const MODE = 0o600;
const FOLDER_MODE = 0o700;
/**
 * Just below the longest text of V8, and above the largest statuses of 10,000 pods, which have 35 KiB each, most of it
 * messages of containers.
 */
const MAX_BYTES = 500 * 1024 * 1024;
/** A file smaller than this is not rewritten. */
const SMALL_BYTES = 256 * 1024;
/** Lines that no longer count may take this many times the bytes of those that do, and this much at the most. */
const OLD_SHARE = 3;
const MAX_OLD_BYTES = 16 * 1024 * 1024;

interface Line {
  readonly format: number;
  readonly key: string;
  readonly value?: unknown;
}

/** See the head of this file. */
export class KeyedLog<T> {
  readonly #options: KeyedLogOptions<T>;
  readonly #state: StateFiles;
  readonly #maxBytes: number;
  readonly #changed = new Set<string>();
  /** Bytes of the last line of each key that has a value. */
  readonly #liveBytes = new Map<string, number>();
  #live = 0;
  #size = 0;
  /** What is on disk cannot be appended to: it is of another run, or a write failed half way. */
  #stale = true;
  #failed = false;
  #writing: Promise<void> | undefined;

  constructor(options: KeyedLogOptions<T>, deps: { readonly state: StateFiles }) {
    this.#options = options;
    this.#state = deps.state;
    this.#maxBytes = options.maxBytes ?? MAX_BYTES;
  }

  /** Reads what a previous run kept. What cannot be read is set aside. To be called before anything else. */
  async open(): Promise<ReadonlyMap<string, T>> {
    const { file, decode } = this.#options;
    const folder = file.path.slice(0, file.path.lastIndexOf("/"));
    await this.#state.makeFolder({ ...file, path: folder }, FOLDER_MODE);
    const limits = { maxBytes: this.#maxBytes, mode: MODE };
    const isLine = (text: string) => {
      const line = parseLine(text);
      return line !== undefined && (!("value" in line) || decode(line.value) !== undefined);
    };
    const text = await this.#state.readLines(file, limits, isLine);
    const kept = new Map<string, T>();
    for (const each of text.split("\n")) {
      const line = parseLine(each);
      if (line === undefined) continue;
      const value = "value" in line ? decode(line.value) : undefined;
      if (value === undefined) kept.delete(line.key);
      else kept.set(line.key, value);
    }
    return kept;
  }

  /** The key has another value, or none any more; writing it begins at once. */
  changed(key: string): void {
    this.#changed.add(key);
    this.#writing ??= this.#write();
  }

  /** Resolves when nothing is being written any more: whether everything that changed is on disk. */
  async flush(): Promise<boolean> {
    while (this.#writing !== undefined) await this.#writing;
    return !this.#failed;
  }

  /** Writes what has changed; `anyway`, also where nothing has. */
  async #write(anyway = false): Promise<void> {
    for (let isDue = anyway; isDue || this.#changed.size > 0; isDue = false) {
      // What changes in this turn goes with it.
      await undefined;
      const keys = [...this.#changed];
      this.#changed.clear();
      try {
        if (this.#stale || this.#isMostlyOld()) await this.#rewrite();
        else await this.#append(keys);
        this.#failed = false;
      } catch {
        // The state files report it. All values are written with the next change, and without one when it is tried again.
        this.#failed = true;
        this.#state.tryAgain(this.#options.file, async () => this.#tryAgain());
      }
      this.#stale = this.#failed;
    }
    // In the turn in which nothing was left: whoever comes later begins another one.
    this.#writing = undefined;
  }

  /** Begins to write all values, unless that is under way or has been done meanwhile. */
  #tryAgain(): void {
    if (this.#failed) this.#writing ??= this.#write(true);
  }

  #isMostlyOld(): boolean {
    const old = this.#size - this.#live;
    return this.#size > SMALL_BYTES && old > Math.min(this.#live * OLD_SHARE, MAX_OLD_BYTES);
  }

  async #append(keys: readonly string[]): Promise<void> {
    const { text, bytes } = this.#linesOf(keys);
    // Where nearly all values change at once, half of the file is old at once.
    if (this.#size + bytes > this.#maxBytes) return await this.#rewrite();
    this.#size += bytes;
    await this.#state.append(this.#options.file, text, MODE, { sync: true });
  }

  async #rewrite(): Promise<void> {
    const { file, keys } = this.#options;
    this.#liveBytes.clear();
    this.#live = 0;
    const { text, bytes } = this.#linesOf(keys());
    this.#size = bytes;
    if (bytes > this.#maxBytes) {
      // What an earlier write has left is better than a file that is set aside at the next start.
      const why = `it would have ${bytes} bytes, and no more than ${this.#maxBytes} are read back`;
      this.#state.note(file, { kind: "unwritten", why });
      throw new OutsideError("exhausted", why);
    }
    await this.#state.write(file, text || NO_LINE, MODE);
  }

  #linesOf(keys: Iterable<string>): { readonly text: string; readonly bytes: number } {
    let text = "";
    let bytes = 0;
    for (const key of keys) {
      const value = this.#options.valueOf(key);
      const line = `${JSON.stringify({ format: FORMAT, key, value })}\n`;
      const lineBytes = Buffer.byteLength(line);
      this.#live -= this.#liveBytes.get(key) ?? 0;
      this.#liveBytes.delete(key);
      if (value !== undefined) {
        this.#liveBytes.set(key, lineBytes);
        this.#live += lineBytes;
      }
      text += line;
      bytes += lineBytes;
    }
    return { text, bytes };
  }
}

function parseLine(text: string): Line | undefined {
  try {
    const line: Partial<Line> | null = JSON.parse(text);
    const isKnown = line?.format === FORMAT && typeof line.key === "string";
    return isKnown ? (line as Line) : undefined;
  } catch {
    return undefined;
  }
}

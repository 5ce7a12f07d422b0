import { nanosFromWall, parseTimestampNanos } from "../../api/timestamps.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import { isOutside, OutsideError } from "../../kit/errors.ts";
import type { OpenFile, OpenFolder } from "../../outside/serving.ts";
import { LogRenderer, type RenderRules } from "./render.ts";
import { type Segment, segmentsOf } from "./segments.ts";
import { FROM_THE_BEGINNING, findSince, findTail, type OpenSegment, type Start } from "./start.ts";

/** What of a container's log is wanted. */
export interface LogQuery extends RenderRules {
  /** The last so many lines; all when left out. */
  readonly tailLines?: number;
  /** Goes on until the container has ended. */
  readonly follow: boolean;
}

/** Takes what was read; resolves when there is room for more. */
export type WriteLog = (chunk: Uint8Array) => Promise<void>;

/** What one reading needs of others. */
export interface LogReadingDeps {
  readonly clock: Clock;
  /** Whether the container writes no more; what it wrote is on disk by then. */
  readonly ended: Reading<boolean>;
  /** Told of a zipped segment that cannot be read to its end; the rest of it is left out. */
  readonly onBroken: (name: string, error: unknown) => void;
  /** Called once when the reading is let go of. */
  readonly onClose: () => void;
}

const READ_BYTES = 64 * 1024;
/** Looks without having been told of a change: the kernel may have no watch left for us. */
const LOOK_EVERY_MS = 1_000;
/** File times are taken from a coarse clock. */
const SLACK_MS = 1_000;

/** A log whose start was found: nothing can be wrong with the request any more. */
export class LogReading implements AsyncDisposable {
  readonly #folder: OpenFolder;
  readonly #name: string;
  readonly #query: LogQuery;
  readonly #deps: LogReadingDeps;
  readonly #renderer: LogRenderer;
  #segments: readonly Segment[] = [];
  #start: Start = FROM_THE_BEGINNING;
  #wake: (() => void) | undefined;
  /** Something happened since the last look at the content, or at the names. */
  #contentChanged = true;
  #namesChanged = true;
  #closed = false;

  private constructor(folder: OpenFolder, name: string, query: LogQuery, deps: LogReadingDeps) {
    this.#folder = folder;
    this.#name = name;
    this.#query = query;
    this.#deps = deps;
    this.#renderer = new LogRenderer(query);
  }

  /** Takes charge of `folder`. A log that is not there is an `OutsideError` "notFound". */
  static async open(
    folder: OpenFolder,
    name: string,
    query: LogQuery,
    deps: LogReadingDeps,
  ): Promise<LogReading> {
    const reading = new LogReading(folder, name, query, deps);
    try {
      await reading.#findStart();
      return reading;
    } catch (error) {
      await folder[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#deps.onClose();
    await this.#folder[Symbol.asyncDispose]();
  }

  /** Reads to the end, or until the container has ended, or the limit of bytes is reached. */
  async pump(write: WriteLog, signal: AbortSignal): Promise<void> {
    const onChange = (change: "names" | "content") => this.#onChange(change);
    const stopWatching = this.#query.follow ? this.#folder.watch(onChange) : undefined;
    const stopListening = this.#deps.ended.subscribe(() => onChange("content"));
    try {
      await this.#pump(write, signal);
    } finally {
      stopWatching?.();
      stopListening();
    }
  }

  async #pump(write: WriteLog, signal: AbortSignal): Promise<void> {
    this.#renderer.skipLines(this.#start.skipLines);
    let segments: readonly Segment[] = this.#segments.slice(this.#start.segment);
    let offset = this.#start.offset;
    for (;;) {
      for (const segment of segments.slice(0, -1)) {
        await this.#passWhole(segment, offset, write, signal);
        offset = 0;
      }
      const last = segments.at(-1);
      const next = last && (await this.#passLast(last, offset, write, signal));
      if (!next) break;
      segments = next;
      offset = 0;
    }
    this.#renderer.finish();
    await this.#passOn(write);
  }

  /** A segment that is not written any more. */
  async #passWhole(
    segment: Segment,
    offset: number,
    write: WriteLog,
    signal: AbortSignal,
  ): Promise<void> {
    await using file = await this.#open(segment);
    if (!file || this.#renderer.full) return;
    if (segment.zipped) {
      for await (const bytes of file.unzipped()) {
        signal.throwIfAborted();
        this.#renderer.push(bytes);
        await this.#passOn(write);
        if (this.#renderer.full) return;
      }
    } else await this.#passPlain(file, { from: offset, write, signal });
  }

  /**
   * The newest segment, up to where it is now, or following what is written to it. Resolves with the
   * segments that came after it when it was rotated away, or with nothing when reading is over.
   */
  async #passLast(
    segment: Segment,
    offset: number,
    write: WriteLog,
    signal: AbortSignal,
  ): Promise<readonly Segment[] | undefined> {
    // Only a log whose newest file went away has a zipped one at its end.
    if (segment.zipped) {
      await this.#passWhole(segment, offset, write, signal);
      return undefined;
    }
    await using file = await this.#open(segment);
    if (!file) return undefined;
    if (!this.#query.follow) {
      // What is written from now on is not waited for: it may never stop.
      const until = segment.sizeBytes;
      await this.#passPlain(file, { from: offset, until, write, signal });
      return undefined;
    }
    return await this.#followFile(file, { from: offset, write, signal });
  }

  async #followFile(
    file: OpenFile,
    way: { from: number; readonly write: WriteLog; readonly signal: AbortSignal },
  ): Promise<readonly Segment[] | undefined> {
    const at = { ...way };
    for (;;) {
      this.#contentChanged = false;
      const ended = this.#deps.ended.get();
      const rotated = (ended || this.#namesChanged) && (await this.#isRotated(file));
      // A file that was cut off is read from its new beginning.
      if ((await file.sizeBytes()) < at.from) at.from = 0;
      at.from = await this.#passPlain(file, at);
      if (this.#renderer.full) return undefined;
      if (rotated) return this.#after(file);
      if (ended) return undefined;
      await this.#pause(way.signal);
    }
  }

  async #passPlain(
    file: OpenFile,
    way: {
      readonly from: number;
      readonly until?: number;
      readonly write: WriteLog;
      readonly signal: AbortSignal;
    },
  ): Promise<number> {
    const until = way.until ?? Number.POSITIVE_INFINITY;
    let at = way.from;
    while (at < until && !this.#renderer.full) {
      way.signal.throwIfAborted();
      const bytes = await file.read(at, Math.min(READ_BYTES, until - at));
      if (bytes.length === 0) break;
      at += bytes.length;
      this.#renderer.push(bytes);
      await this.#passOn(way.write);
    }
    return at;
  }

  async #passOn(write: WriteLog): Promise<void> {
    const pieces = this.#renderer.take();
    if (pieces.length > 0) await write(Buffer.concat(pieces));
  }

  /** Whether the name of the log stands for another file by now. */
  async #isRotated(file: OpenFile): Promise<boolean> {
    this.#namesChanged = false;
    const current = (await this.#folder.list()).find(({ name }) => name === this.#name);
    // Between the rename and the new file there is none: the file is still being written.
    if (!current) this.#namesChanged = true;
    return current !== undefined && current.id !== file.id;
  }

  /** What came after `file`. If it is gone, all that may hold lines later than the last one read. */
  async #after(file: OpenFile): Promise<readonly Segment[]> {
    const segments = segmentsOf(this.#name, await this.#folder.list());
    const at = segments.findIndex(({ id }) => id === file.id);
    if (at >= 0) return segments.slice(at + 1);
    const { lastTime } = this.#renderer;
    const known = lastTime === undefined ? undefined : parseTimestampNanos(lastTime);
    this.#renderer.skipKnown();
    if (known === undefined) return segments.slice(-1);
    return segments.filter(
      ({ modifiedMs }) => nanosFromWall((modifiedMs + SLACK_MS) as WallMs) >= known,
    );
  }

  /** Waits until there may be something new. */
  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        cancel();
        this.#wake = undefined;
        signal.removeEventListener("abort", onAbort);
        finish();
      };
      const onAbort = () => settle(() => reject(signal.reason as Error));
      const cancel = this.#deps.clock.alarm(LOOK_EVERY_MS, () => {
        this.#namesChanged = true;
        settle(resolve);
      });
      this.#wake = () => settle(resolve);
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
      else if (this.#contentChanged) this.#wake();
    });
  }

  #onChange(change: "names" | "content"): void {
    this.#contentChanged = true;
    if (change === "names") this.#namesChanged = true;
    this.#wake?.();
  }

  readonly #open: OpenSegment = async ({ name }) => {
    const file = await this.#folder.open(name);
    return file && toleratingBreaks(file, (error) => this.#deps.onBroken(name, error));
  };

  async #findStart(): Promise<void> {
    const segments = segmentsOf(this.#name, await this.#folder.list());
    if (segments.length === 0) throw new OutsideError("notFound", `there is no log ${this.#name}`);
    const { tailLines, sinceNanos, stream } = this.#query;
    this.#segments = segments;
    if (tailLines !== undefined)
      this.#start = await findTail(segments, this.#open, tailLines, stream);
    else if (sinceNanos !== undefined)
      this.#start = await findSince(segments, this.#open, sinceNanos);
  }
}

/** The same file, whose zipped content ends where it is broken. */
function toleratingBreaks(file: OpenFile, onBroken: (error: unknown) => void): OpenFile {
  return {
    id: file.id,
    sizeBytes: () => file.sizeBytes(),
    read: (offset, maxBytes) => file.read(offset, maxBytes),
    async *unzipped() {
      try {
        yield* file.unzipped();
      } catch (error) {
        if (!isOutside(error, "invalid")) throw error;
        onBroken(error);
      }
    },
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  };
}

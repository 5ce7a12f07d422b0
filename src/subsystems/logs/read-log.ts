import { nanosFromWall, parseTimestampNanos } from "../../api/text/timestamps.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock, WallMs } from "../../kit/clock.ts";
import { isOutside, OutsideError } from "../../kit/errors.ts";
import { Wakeup } from "../../kit/loops/wakeup.ts";
import type { OpenFile, OpenFolder } from "../../outside/serving.ts";
import { LogRenderer, type RenderRules } from "./render.ts";
import { type Segment, segmentsOf } from "./segments.ts";
import { FROM_THE_BEGINNING, findSince, findTail, type HeldSegment, type Start } from "./start.ts";

/** Selection of a container's log. */
export interface LogQuery extends RenderRules {
  /** The last so many lines; all when left out. */
  readonly tailLines?: number;
  /** Goes on until the container has ended. */
  readonly follow: boolean;
}

/** Takes what was read; resolves when it can take more. */
export type WriteLog = (chunk: Uint8Array) => Promise<void>;

interface LogReadingDeps {
  readonly clock: Clock;
  /** Whether the container writes no more; what it wrote is on disk by then. */
  readonly ended: Reading<boolean>;
  /** Called for a zipped segment that cannot be read to its end; the rest of it is left out. */
  readonly onBroken: (name: string, error: unknown) => void;
  /** Called once when the reader is closed. */
  readonly onClose: () => void;
}

const READ_BYTES = 64 * 1024;
/** Poll interval: the kernel may have no inotify watch left. */
const LIST_EVERY_MS = 1_000;
/** Maximum files of one log that are read, the newest ones; a node keeps a handful. */
const MAX_SEGMENTS = 64;
/** Attempts at opening all files while they are rotated. */
const HOLD_ATTEMPTS = 10;
/** A rotated file is read once more after this. */
const SETTLE_MS = 50;
/** File times are taken from a coarse clock. */
const SLACK_MS = 1_000;

/** A log whose start was found: nothing can be wrong with the request any more. */
export class LogReading implements AsyncDisposable {
  readonly #folder: OpenFolder;
  readonly #name: string;
  readonly #query: LogQuery;
  readonly #deps: LogReadingDeps;
  readonly #renderer: LogRenderer;
  /** Files to read next, oldest first. */
  #held: HeldSegment[] = [];
  #start: Start = FROM_THE_BEGINNING;
  readonly #wakeup = new Wakeup();
  /** Something happened to the names since they were last listed. */
  #namesChanged = true;
  #listedAt = -Infinity;
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
      await closeAll(reading.#held);
      await folder[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#deps.onClose();
    await closeAll(this.#held.splice(0));
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
    let offset = this.#start.offset;
    // Following a file that is rotated away brings those that came after it.
    for (let next = this.#held.shift(); next; next = this.#held.shift()) {
      await using _ = next.file;
      if (this.#renderer.full) continue;
      const isLast = this.#held.length === 0 && !next.zipped;
      if (isLast) await this.#passLast(next, offset, write, signal);
      else await this.#passWhole(next, offset, write, signal);
      offset = 0;
    }
    this.#renderer.finish();
    await this.#passOn(write);
  }

  /** A segment that is not written any more. */
  async #passWhole(
    { zipped, file }: HeldSegment,
    offset: number,
    write: WriteLog,
    signal: AbortSignal,
  ): Promise<void> {
    if (!zipped) {
      await this.#passPlain(file, { from: offset, write, signal });
      return;
    }
    for await (const bytes of file.unzipped()) {
      signal.throwIfAborted();
      this.#renderer.push(bytes);
      await this.#passOn(write);
      if (this.#renderer.full) return;
    }
  }

  /** The newest segment: up to where it was, or following what is written to it and what comes after it. */
  async #passLast(
    { file, sizeBytes }: HeldSegment,
    offset: number,
    write: WriteLog,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#query.follow) await this.#followFile(file, { from: offset, write, signal });
    // Lines written from now on are not included: writing may never stop.
    else await this.#passPlain(file, { from: offset, until: sizeBytes, write, signal });
  }

  async #followFile(
    file: OpenFile,
    way: { from: number; readonly write: WriteLog; readonly signal: AbortSignal },
  ): Promise<void> {
    const at = { ...way };
    for (;;) {
      const ended = this.#deps.ended.get();
      const isDue = ended || this.#namesChanged || this.#untilCheckMs() <= 0;
      const rotated = isDue && (await this.#isRotated(file));
      // A file that was cut off is read from its new beginning.
      if ((await file.sizeBytes()) < at.from) at.from = 0;
      at.from = await this.#passPlain(file, at);
      if (this.#renderer.full) return;
      if (rotated) {
        // Its writer may just be about to take the new file.
        await this.#deps.clock.sleep(SETTLE_MS, way.signal);
        await this.#passPlain(file, at);
        this.#held = await this.#hold((segments) => this.#after(file, segments));
        return;
      }
      if (ended) return;
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
    this.#listedAt = this.#deps.clock.monotonic();
    const current = (await this.#folder.list()).find(({ name }) => name === this.#name);
    // Between the rename and the new file there is none: the file is still being written.
    if (!current) this.#namesChanged = true;
    return current !== undefined && current.id !== file.id;
  }

  /** The files after `file`. If it is gone, all that may hold lines later than the last one read. */
  #after(file: OpenFile, segments: readonly Segment[]): readonly Segment[] {
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

  /** Opens the segments that `choose` returns, all of one listing: while they are opened, they may be rotated. */
  async #hold(
    choose: (segments: readonly Segment[]) => readonly Segment[],
  ): Promise<HeldSegment[]> {
    for (let attempt = 1; attempt <= HOLD_ATTEMPTS; attempt += 1) {
      const segments = segmentsOf(this.#name, await this.#folder.list()).slice(-MAX_SEGMENTS);
      const chosen = choose(segments);
      const held = await this.#openAll(chosen);
      if (held.length === chosen.length && held.every(({ id, file }) => id === file.id))
        return held;
      await closeAll(held);
    }
    throw new OutsideError("unavailable", `the log ${this.#name} is rotated too often`);
  }

  /** Opens segments in their order, up to the first that is gone or another file by now. */
  async #openAll(segments: readonly Segment[]): Promise<HeldSegment[]> {
    const held: HeldSegment[] = [];
    try {
      for (const segment of segments) {
        const file = await this.#folder.open(segment.name);
        if (!file) break;
        const onBroken = (error: unknown) => this.#deps.onBroken(segment.name, error);
        held.push({ ...segment, file: toleratingBreaks(file, onBroken) });
        if (file.id !== segment.id) break;
      }
      return held;
    } catch (error) {
      await closeAll(held);
      throw error;
    }
  }

  /** Until the names are due to be listed again, whatever is written in between. */
  #untilCheckMs(): number {
    return Math.max(0, this.#listedAt + LIST_EVERY_MS - this.#deps.clock.monotonic());
  }

  /** Waits until there may be something new. */
  async #pause(signal: AbortSignal): Promise<void> {
    await this.#wakeup.wait({ clock: this.#deps.clock, ms: this.#untilCheckMs() }, signal);
    signal.throwIfAborted();
  }

  #onChange(change: "names" | "content"): void {
    if (change === "names") this.#namesChanged = true;
    this.#wakeup.wake();
  }

  async #findStart(): Promise<void> {
    this.#held = await this.#hold((segments) => segments);
    if (this.#held.length === 0)
      throw new OutsideError("notFound", `log ${this.#name} does not exist`);
    const { tailLines, sinceNanos, stream } = this.#query;
    if (tailLines !== undefined) this.#start = await findTail(this.#held, tailLines, stream);
    else if (sinceNanos !== undefined) this.#start = await findSince(this.#held, sinceNanos);
    await closeAll(this.#held.splice(0, this.#start.segment));
  }
}

async function closeAll(held: readonly HeldSegment[]): Promise<void> {
  for (const { file } of held) await file[Symbol.asyncDispose]();
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

import { close, constants, fchmod, fdatasync, fstat, ftruncate, open, write } from "node:fs";
import { promisify } from "node:util";
import { SerialQueue } from "../../../kit/limits/serial-queue.ts";
import { errnoOf } from "../host-errors.ts";

const opened = promisify(open);
const closed = promisify(close);
const synced = promisify(fdatasync);
const changedMode = promisify(fchmod);
const facts = promisify(fstat);
const truncated = promisify(ftruncate);
/** Resolves with the bytes that were written. */
const written = (descriptor: number, bytes: Buffer): Promise<number> =>
  new Promise((resolve, reject) => {
    write(descriptor, bytes, 0, bytes.length, null, (error, count) =>
      error ? reject(error) : resolve(count),
    );
  });

/** Files held open at once; the one opened first goes. */
const MAX_OPEN = 16;
/** A file is closed so long after it was opened: by then its name may lead to another one. */
const KEEP_MS = 1_000;
const CREATE_ATTEMPTS = 5;

interface OpenFile {
  readonly descriptor: Promise<number>;
  readonly closing: NodeJS.Timeout;
  /** Writes, one at a time: a short one is continued before the next begins. */
  readonly writes: SerialQueue;
}

/**
 * Files that are appended to, held open for a moment: whoever appends does it again soon, and opening and closing
 * cost more than writing. Files are plain descriptors, because a `FileHandle` must not be collected open.
 */
export class AppendFiles {
  readonly #open = new Map<string, OpenFile>();
  /**
   * Writes by name to files that are no longer held open but still written to. What is added to the name from now on waits
   * for them: to cut off what a full disk took of a text, nobody else may be writing.
   */
  readonly #leaving = new Map<string, SerialQueue>();

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Adds `text` to the end of the file, which is made with `mode` when missing; on disk at the end with `sync`. All of it or,
   * where that fails, nothing, as far as the disk permits.
   */
  async append(path: string, text: string, mode: number, sync = false): Promise<void> {
    const file = this.#open.get(path) ?? this.#hold(path, mode);
    try {
      await file.writes.run(async () => {
        await appendWhole(await file.descriptor, Buffer.from(text), sync);
      });
    } catch (thrown) {
      // The open file itself may be faulty: the next attempt opens it again.
      this.release(path);
      throw thrown;
    }
  }

  /** The name is about to lead to another file, or to none. */
  release(path: string): void {
    const file = this.#open.get(path);
    if (!file) return;
    this.#open.delete(path);
    clearTimeout(file.closing);
    this.#leaving.set(path, file.writes);
    void file.writes
      // After what is being written. One that could not be opened need not be closed.
      .run(async () => closed(await file.descriptor))
      .catch(() => {})
      .then(() => {
        if (!file.writes.isBusy) this.#leaving.delete(path);
      });
  }

  #hold(path: string, mode: number): OpenFile {
    const [first] = this.#open.keys();
    if (first !== undefined && this.#open.size >= MAX_OPEN) this.release(first);
    const descriptor = openToAppend(path, mode);
    // A timer of the process, which does not keep it from ending.
    const closing = setTimeout(() => this.release(path), KEEP_MS).unref();
    const file = { descriptor, closing, writes: this.#leaving.get(path) ?? new SerialQueue() };
    this.#open.set(path, file);
    return file;
  }
}

/**
 * What a full disk took of a text would be a torn line, which the text glues itself to when it is added again. It is cut
 * off, also where the text is whole but could not be synced: its caller takes it for missing.
 */
async function appendWhole(descriptor: number, bytes: Buffer, sync: boolean): Promise<void> {
  let at = 0;
  try {
    while (at < bytes.length) at += await written(descriptor, bytes.subarray(at));
    if (sync) await synced(descriptor);
  } catch (thrown) {
    // The first error is the one to report.
    if (at > 0) await cutOff(descriptor, at).catch(() => {});
    throw thrown;
  }
}

/** Takes the last `length` bytes off the file, to which nobody else writes. */
async function cutOff(descriptor: number, length: number): Promise<void> {
  const { size } = await facts(descriptor);
  // Somebody has emptied it meanwhile, or it is no regular file.
  if (size < length) return;
  await truncated(descriptor, size - length);
}

async function openToAppend(path: string, mode: number): Promise<number> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await opened(path, flags);
    } catch (thrown) {
      if (errnoOf(thrown) !== "ENOENT") throw thrown;
    }
    try {
      const descriptor = await opened(path, flags | constants.O_CREAT | constants.O_EXCL, mode);
      if ((mode & 0o077) !== 0) await changedMode(descriptor, mode);
      return descriptor;
    } catch (thrown) {
      if (errnoOf(thrown) !== "EEXIST" || attempt >= CREATE_ATTEMPTS) throw thrown;
    }
  }
}

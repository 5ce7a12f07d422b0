import { constants, type FSWatcher, watch } from "node:fs";
import { type FileHandle, lstat, readdir } from "node:fs/promises";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { isOutside } from "../../../kit/errors.ts";
import { allValues, inParallel } from "../../../kit/in-parallel.ts";
import { nameIn, openBeneath } from "../beneath.ts";
import type { FileKind } from "../host.ts";
import { hostError, isMissing } from "../host-errors.ts";

/** Attributes of a file at one moment. */
export interface NamedFile {
  readonly name: string;
  readonly kind: FileKind;
  /** Stays the same while the file is open, also after a rename. */
  readonly id: string;
  readonly sizeBytes: number;
  /** Last change of the content, Unix milliseconds. */
  readonly modifiedMs: number;
}

/** A regular file that stays readable when it is renamed or removed. */
export interface OpenFile extends AsyncDisposable {
  readonly id: string;
  sizeBytes(): Promise<number>;
  /** Up to `maxBytes` from `offset` on; fewer only at the end, none behind it. */
  read(offset: number, maxBytes: number): Promise<Uint8Array>;
  /** The content of a gzip file, piece by piece; what is none is an `OutsideError` "invalid". */
  unzipped(): AsyncIterable<Uint8Array>;
}

/** A folder that is held open: all names are resolved in it, also after it was moved. */
export interface OpenFolder extends AsyncDisposable {
  /** Its entries, sorted by name; a consistent snapshot unless names change all the time. */
  list(): Promise<readonly NamedFile[]>;
  /** Opens a regular file; `undefined` when there is none. A link is an `OutsideError` "precondition". */
  open(name: string): Promise<OpenFile | undefined>;
  /**
   * Calls `onChange` when a file in it may have changed, or which files there are, until the result is
   * called. The kernel may have no watches left; callers that must not miss a change also poll.
   */
  watch(onChange: (change: "names" | "content") => void): () => void;
}

/**
 * Opens the folder `relativePath` below `root`, following no link in any part; `undefined` when there is
 * none. A link on the way is an `OutsideError` "precondition".
 */
export type OpenFolderBeneath = (
  root: string,
  relativePath: string,
) => Promise<OpenFolder | undefined>;

const READ_CHUNK_BYTES = 64 * 1024;
/** Portions of unzipped content: zlib's own of 16 KiB cost more in turns of the event loop than in work. */
const UNZIPPED_CHUNK_BYTES = 64 * 1024;
/** Times a folder whose names change while it is listed is listed again. */
const LIST_ATTEMPTS = 10;
/** Files of a folder that are read concurrently. */
const STATS_AT_ONCE = 8;

/** Folders of this machine. */
export const openFolderBeneath: OpenFolderBeneath = async (root, relativePath) => {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  const handle = await orMissing(() => openBeneath(root, relativePath, flags));
  return handle && new HeldFolder(handle, `${root}/${relativePath}`);
};

class HeldFolder implements OpenFolder {
  readonly #handle: FileHandle;
  readonly #shown: string;
  readonly #watchers = new Set<FSWatcher>();

  constructor(handle: FileHandle, shown: string) {
    this.#handle = handle;
    this.#shown = shown;
  }

  async list(): Promise<readonly NamedFile[]> {
    try {
      let names = await this.#names();
      for (let attempt = 1; ; attempt += 1) {
        const outcomes = await inParallel(names, STATS_AT_ONCE, (name) => this.#stat(name));
        const found = allValues(outcomes);
        const after = await this.#names();
        // A file renamed meanwhile would be seen under neither name.
        if (attempt >= LIST_ATTEMPTS || after.join("/") === names.join("/"))
          return found.filter((file) => file !== undefined);
        names = after;
      }
    } catch (thrown) {
      throw hostError("list", this.#shown, thrown);
    }
  }

  async open(name: string): Promise<OpenFile | undefined> {
    const flags = constants.O_RDONLY | constants.O_NONBLOCK;
    const root = `/proc/self/fd/${this.#handle.fd}`;
    const handle = await orMissing(() => openBeneath(root, name, flags));
    if (!handle) return undefined;
    const facts = await handle.stat({ bigint: true });
    if (facts.isFile()) return new HeldFile(handle, `${this.#shown}/${name}`, idOf(facts));
    await handle.close();
    return undefined;
  }

  watch(onChange: (change: "names" | "content") => void): () => void {
    let watcher: FSWatcher;
    try {
      watcher = watch(`/proc/self/fd/${this.#handle.fd}`, { persistent: false }, (event) =>
        onChange(event === "rename" ? "names" : "content"),
      );
    } catch {
      return () => {};
    }
    this.#watchers.add(watcher);
    const stop = () => {
      this.#watchers.delete(watcher);
      watcher.close();
    };
    watcher.on("error", stop);
    return stop;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const watcher of this.#watchers) watcher.close();
    await this.#handle.close();
  }

  async #names(): Promise<readonly string[]> {
    return (await readdir(`/proc/self/fd/${this.#handle.fd}`)).sort();
  }

  async #stat(name: string): Promise<NamedFile | undefined> {
    try {
      const facts = await lstat(nameIn(this.#handle, name), { bigint: true });
      const kind: FileKind = facts.isFile()
        ? "file"
        : facts.isDirectory()
          ? "directory"
          : facts.isSymbolicLink()
            ? "link"
            : "other";
      return {
        name,
        kind,
        id: idOf(facts),
        sizeBytes: Number(facts.size),
        modifiedMs: Number(facts.mtimeMs),
      };
    } catch (thrown) {
      if (isMissing(thrown)) return undefined;
      throw thrown;
    }
  }
}

class HeldFile implements OpenFile {
  readonly id: string;
  readonly #handle: FileHandle;
  readonly #shown: string;

  constructor(handle: FileHandle, shown: string, id: string) {
    this.id = id;
    this.#handle = handle;
    this.#shown = shown;
  }

  async sizeBytes(): Promise<number> {
    return (await this.#handle.stat()).size;
  }

  async read(offset: number, maxBytes: number): Promise<Uint8Array> {
    const buffer = Buffer.allocUnsafe(maxBytes);
    let filled = 0;
    try {
      while (filled < maxBytes) {
        const left = maxBytes - filled;
        const { bytesRead } = await this.#handle.read(buffer, filled, left, offset + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
    } catch (thrown) {
      throw hostError("read", this.#shown, thrown);
    }
    return buffer.subarray(0, filled);
  }

  unzipped(): AsyncIterable<Uint8Array> {
    return unzipChunks((offset, maxBytes) => this.read(offset, maxBytes), this.#shown);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

/** Reads up to `maxBytes` from `offset` on; nothing at the end. */
type ReadAt = (offset: number, maxBytes: number) => Promise<Uint8Array>;

/** The content of the gzip file that `read` reads, piece by piece; see `OpenFile.unzipped`. */
export async function* unzipChunks(read: ReadAt, shown: string): AsyncGenerator<Uint8Array> {
  const unzip = createGunzip({ chunkSize: UNZIPPED_CHUNK_BYTES });
  const source = Readable.from(chunksOf(read), { objectMode: false });
  source.on("error", (error) => unzip.destroy(error));
  source.pipe(unzip);
  try {
    yield* unzip as AsyncIterable<Buffer>;
  } catch (thrown) {
    throw hostError("unzip", shown, invalidWhereZlib(thrown));
  } finally {
    source.destroy();
    unzip.destroy();
  }
}

/** The whole file. Closing the stream over it leaves the file open, which Node's own stream would not. */
async function* chunksOf(read: ReadAt): AsyncGenerator<Uint8Array> {
  for (let offset = 0; ; ) {
    const chunk = await read(offset, READ_CHUNK_BYTES);
    if (chunk.length === 0) return;
    yield chunk;
    offset += chunk.length;
  }
}

/** zlib has errors of its own (`Z_DATA_ERROR`, …): the content is at fault, not the disk. */
function invalidWhereZlib(thrown: unknown): unknown {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  return code.startsWith("Z_") ? Object.assign(new Error(code), { code: "EINVAL" }) : thrown;
}

function idOf(facts: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${facts.dev}:${facts.ino}`;
}

async function orMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    if (isOutside(thrown, "notFound")) return undefined;
    throw thrown;
  }
}

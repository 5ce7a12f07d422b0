/** A folder as the layer of an image: links are stored and never followed, and the same content gives the same bytes. */
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink } from "node:fs/promises";
import { CliError } from "../../present/cli-error.ts";
import { TAR_END, type TarHeader, tarHeader, tarPadding } from "./tar.ts";

/** Folder and options of a layer. */
export interface FolderLayer {
  /** Absolute path without links. */
  readonly folder: string;
  /** Owner of everything in the image; who owns it on this machine does not matter. */
  readonly owner: { readonly uid: number; readonly gid: number };
  /** A folder that is not included even if it is inside; absolute path without links. */
  readonly except: string;
  readonly signal: AbortSignal;
}

/** Receives the bytes of the layer in order. */
type LayerSink = (bytes: Uint8Array) => Promise<void>;

/** Something that is not in the layer. */
export interface SkippedEntry {
  readonly path: string;
  readonly why: string;
}

const CHUNK_BYTES = 256 * 1024;
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;
/** Marks a file of a lower layer as removed (OCI image-spec, layer.md). */
const WHITEOUT = ".wh.";

/**
 * Writes the layer: an uncompressed tar archive sorted by name, with modes and hard links, without times. Devices,
 * sockets and named pipes are skipped, and so is what is mounted inside the folder. Throws `CliError` for a file
 * that cannot be read or stored, and for an empty folder.
 */
export async function writeFolderLayer(
  layer: FolderLayer,
  sink: LayerSink,
): Promise<readonly SkippedEntry[]> {
  const root = await reading(layer.folder, open(layer.folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  try {
    const { dev } = await root.stat({ bigint: true });
    const walk = new Walk(layer, dev, sink);
    await walk.addFolder(root, "");
    if (walk.entries === 0)
      throw new CliError(`${layer.folder} is empty`, {
        fix: "name the folder that holds the files of the image",
      });
    await sink(TAR_END);
    return walk.skipped;
  } finally {
    await root.close();
  }
}

class Walk {
  readonly skipped: SkippedEntry[] = [];
  entries = 0;
  readonly #layer: FolderLayer;
  readonly #device: bigint;
  readonly #sink: LayerSink;
  /** The first name of each file that has several. */
  readonly #linked = new Map<string, string>();
  readonly #buffer = Buffer.allocUnsafe(CHUNK_BYTES);

  constructor(layer: FolderLayer, device: bigint, sink: LayerSink) {
    this.#layer = layer;
    this.#device = device;
    this.#sink = sink;
  }

  /** `path` is that in the image, empty for the root. */
  async addFolder(folder: FileHandle, path: string): Promise<void> {
    // Through the open folder: it cannot be replaced by a link to elsewhere on the way.
    const here = `/proc/self/fd/${folder.fd}`;
    const names = await reading(this.#shown(path), readdir(here, { encoding: "buffer" }));
    for (const bytes of names.toSorted(Buffer.compare)) {
      this.#layer.signal.throwIfAborted();
      const name = this.#checkedName(bytes, path);
      await this.#addEntry(`${here}/${name}`, path === "" ? name : `${path}/${name}`);
    }
  }

  #shown(path: string): string {
    return path === "" ? this.#layer.folder : `${this.#layer.folder}/${path}`;
  }

  #checkedName(bytes: Buffer, folder: string): string {
    const name = bytes.toString("utf8");
    const path = this.#shown(folder === "" ? name : `${folder}/${name}`);
    if (!Buffer.from(name).equals(bytes))
      throw new CliError(`cannot store ${JSON.stringify(path)}: its name is not UTF-8`, {
        fix: "rename it",
      });
    if (name.startsWith(WHITEOUT))
      throw new CliError(
        `cannot store ${path}: in a layer, names that begin with ${WHITEOUT} mark removed files`,
        { fix: "rename or remove it" },
      );
    return name;
  }

  async #addEntry(real: string, path: string): Promise<void> {
    const shown = this.#shown(path);
    const facts = await reading(shown, lstat(real, { bigint: true }));
    if (facts.isDirectory()) return await this.#addSubfolder(real, path, facts);
    if (facts.isFile()) return await this.#addFile(real, path);
    if (!facts.isSymbolicLink()) {
      this.skipped.push({ path, why: specialKind(facts) });
      return;
    }
    const target = await reading(shown, readlink(real, { encoding: "buffer" }));
    const text = target.toString("utf8");
    if (!Buffer.from(text).equals(target))
      throw new CliError(`cannot store ${shown}: the target of the link is not UTF-8`);
    await this.#add({ kind: "symlink", path, target: text });
  }

  async #addSubfolder(real: string, path: string, facts: BigIntStats): Promise<void> {
    if (this.#shown(path) === this.#layer.except) return;
    await this.#add({ kind: "directory", path, mode: modeOf(facts) });
    if (facts.dev !== this.#device) {
      this.skipped.push({ path, why: "content of another file system" });
      return;
    }
    const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    const folder = await reading(this.#shown(path), open(real, flags));
    try {
      await this.addFolder(folder, path);
    } finally {
      await folder.close();
    }
  }

  async #addFile(real: string, path: string): Promise<void> {
    const shown = this.#shown(path);
    // A named pipe in its place would otherwise be waited for.
    const file = await reading(shown, open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    try {
      const facts = await file.stat({ bigint: true });
      if (!facts.isFile()) throw changed(shown);
      const identity = `${facts.dev}:${facts.ino}`;
      const first = facts.nlink > 1n ? this.#linked.get(identity) : undefined;
      const mode = modeOf(facts);
      if (first !== undefined)
        return await this.#add({ kind: "hardlink", path, target: first, mode });
      if (facts.nlink > 1n) this.#linked.set(identity, path);
      const sizeBytes = Number(facts.size);
      await this.#add({ kind: "file", path, mode, sizeBytes });
      await this.#copy(file, sizeBytes, shown);
    } finally {
      await file.close();
    }
  }

  async #copy(file: FileHandle, sizeBytes: number, shown: string): Promise<void> {
    for (let at = 0; at < sizeBytes; ) {
      this.#layer.signal.throwIfAborted();
      const nextBytes = Math.min(CHUNK_BYTES, sizeBytes - at);
      const { bytesRead } = await reading(shown, file.read(this.#buffer, 0, nextBytes, at));
      if (bytesRead === 0) throw changed(shown);
      await this.#sink(this.#buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    await this.#sink(tarPadding(sizeBytes));
  }

  async #add(header: TarHeader): Promise<void> {
    this.entries += 1;
    await this.#sink(tarHeader({ ...header, ...this.#layer.owner }));
  }
}

function modeOf({ mode }: BigIntStats): number {
  return Number(mode & 0o7777n);
}

function specialKind(facts: BigIntStats): string {
  if (facts.isFIFO()) return "named pipe";
  return facts.isSocket() ? "socket" : "device";
}

function changed(path: string): CliError {
  return new CliError(`${path} changed while it was being read`, { fix: "try again" });
}

/** Names the file in errors, instead of the descriptor through which it is reached. */
async function reading<T>(shown: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ELOOP" || code === "ENOTDIR") throw changed(shown);
    throw new CliError(`failed to read ${shown}: ${code ?? String(cause)}`, { cause });
  }
}

import { constants, type Dirent, type Stats } from "node:fs";
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rmdir,
  stat,
  symlink,
  unlink,
} from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import type { Clock } from "../../../kit/clock.ts";
import { isOutside, OutsideError } from "../../../kit/errors.ts";
import { O_PATH, openBeneath } from "../beneath.ts";
import type { FileEntry, FileFacts, FileKind, Files, FileTrees } from "../host.ts";
import { errnoOf, hostError, isMissing } from "../host-errors.ts";
import { mountTableReader } from "../mounts/mounts.ts";
import type { MountEntry } from "../mounts/parse-mountinfo.ts";
import { AppendFiles } from "./append-files.ts";
import { changeBeneath, listBeneath } from "./change-beneath.ts";
import { measureTrees } from "./measure-tree.ts";
import { randomHex } from "./random-name.ts";
import { removeTree } from "./remove-tree.ts";
import { type DirectoryWatchDeps, watchDirectory } from "./watch-directory.ts";

/** Bytes read at once; files of /proc have no known size. */
const READ_CHUNK_BYTES = 64 * 1024;

/** Permission bits with set-id and sticky. */
const MODE_BITS = 0o7777;

interface FilesDeps extends DirectoryWatchDeps {
  readonly onProgress?: () => void;
}

/** The files of this machine. */
export function createFiles(deps: FilesDeps): Files & FileTrees {
  const { onProgress = () => {}, clock } = deps;
  const mounts = recentMounts(clock);
  /** Whether it was missing. */
  const makeDirectory = (path: string, mode: number) =>
    guarded("make folder", path, async () => {
      const firstMade = await mkdir(path, { recursive: true, mode });
      await chmod(path, mode);
      return firstMade !== undefined;
    });
  const facts: Files["facts"] = (path, options) =>
    guarded("stat", path, () =>
      orMissing(async () => fileFactsOf(await (options?.follow ? stat(path) : lstat(path)))),
    );
  return {
    readText: (path, { maxBytes }) => guarded("read", path, () => readText(path, maxBytes)),
    ...changesOfFiles(),
    readTail: (root, relativePath, maxBytes) =>
      guarded("read", `${root}/${relativePath}`, () => readTail(root, relativePath, maxBytes)),
    makeDirectory: async (path, mode) => {
      await makeDirectory(path, mode);
    },
    makeDirectories: async (folders) => {
      const missing: boolean[] = [];
      for (const { path, mode } of folders) missing.push(await makeDirectory(path, mode));
      return missing;
    },
    list: (path) => guarded("list", path, () => list(path)),
    facts,
    factsOfAll: async (paths, options) => {
      const all: (FileFacts | undefined)[] = [];
      for (const path of paths) all.push(await facts(path, options));
      return all;
    },
    measureTrees: (paths, limits, signal) =>
      measureTrees(paths, { ...limits, mounts, onProgress }, signal),
    removeTree: (path) => guarded("remove", path, () => removeTree(path, onProgress)),
    link: (target, path, options) =>
      guarded("link", path, async () => {
        if (!options?.ifTargetExists || (await facts(target))) await link(target, path);
      }),
    listBeneath: (root, relativePath) =>
      guarded("list", `${root}/${relativePath}`, () => listBeneath(root, relativePath)),
    changeBeneath: (root, relativePath, changes) =>
      guarded("change", `${root}/${relativePath}`, () =>
        changeBeneath(root, relativePath, changes),
      ),
    watchDirectory: (path, onChange, signal) => watchDirectory(deps, path, onChange, signal),
  };
}

/** Operations that append to files, and those after which a name may denote another file than the open one. */
function changesOfFiles(): Pick<Files, "append" | "writeAtomic" | "remove" | "rename"> {
  const appended = new AppendFiles();
  const release = (...paths: readonly string[]) => {
    for (const path of paths) appended.release(path);
  };
  return {
    append: (path, text, mode, options) =>
      guarded("append to", path, () => appended.append(path, text, mode, options?.sync)),
    writeAtomic: (path, content, mode) => {
      release(path);
      return guarded("write", path, () => writeAtomic(path, content, mode));
    },
    remove: (path) => {
      release(path);
      return guarded("remove", path, () => remove(path));
    },
    rename: (from, to) => {
      release(from, to);
      return guarded("rename", `${from} to ${to}`, () => rename(from, to), from);
    },
  };
}

/** A pass over many folders reads the table of mounts once. */
const MOUNTS_MAX_AGE_MS = 500;

function recentMounts(clock: Pick<Clock, "monotonic">): () => readonly MountEntry[] {
  const readTable = mountTableReader();
  let known: { readonly at: number; readonly table: readonly MountEntry[] } | undefined;
  return () => {
    const at = clock.monotonic();
    if (!known || at - known.at > MOUNTS_MAX_AGE_MS) known = { at, table: readTable() };
    return known.table;
  };
}

async function guarded<T>(
  action: string,
  shown: string,
  work: () => Promise<T>,
  path = shown,
): Promise<T> {
  if (!isAbsolute(path)) {
    throw new OutsideError("invalid", `${action} ${shown}: the path is not absolute`);
  }
  try {
    return await work();
  } catch (thrown) {
    throw hostError(action, shown, thrown);
  }
}

async function orMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    throw thrown;
  }
}

function readText(path: string, maxBytes: number): Promise<string | undefined> {
  return withRegularFile(path, async (handle, sizeBytes) =>
    (await readBounded(handle, path, { sizeBytes, maxBytes })).toString("utf8"),
  );
}

async function readTail(
  root: string,
  relativePath: string,
  maxBytes: number,
): Promise<string | undefined> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const handle = await openBeneath(root, relativePath, flags).catch((thrown: unknown) => {
    if (isOutside(thrown, "notFound")) return undefined;
    throw thrown;
  });
  if (handle === undefined) return undefined;
  try {
    const facts = await handle.stat();
    if (!facts.isFile())
      throw new OutsideError("invalid", `read ${root}/${relativePath}: not a regular file`);
    const from = Math.max(0, facts.size - maxBytes);
    const buffer = Buffer.alloc(facts.size - from);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from);
    const tail = buffer.subarray(0, bytesRead);
    return tail.subarray(from === 0 ? 0 : brokenCharacterBytes(tail)).toString("utf8");
  } finally {
    await handle.close();
  }
}

/** How many bytes at the beginning belong to a UTF-8 character that was cut through. */
function brokenCharacterBytes(bytes: Buffer): number {
  const start = bytes.subarray(0, 3).findIndex((byte) => (byte & 0xc0) !== 0x80);
  return start < 0 ? Math.min(3, bytes.length) : start;
}

/**
 * Reads what the name stands for before that very object is opened: opening alone rewinds a tape, starts a
 * watchdog and lets the writer of a pipe go on, and pods may put such things in the place of their files.
 */
async function withRegularFile<T>(
  path: string,
  use: (handle: FileHandle, sizeBytes: number) => Promise<T>,
): Promise<T | undefined> {
  const held = await orMissing(() => open(path, O_PATH));
  if (held === undefined) return undefined;
  const { handle, sizeBytes } = await openHeld(held, path).catch(async (thrown: unknown) => {
    await held.close();
    throw thrown;
  });
  try {
    // Each call is a way to another thread and back: what need not wait for another does not.
    const [used] = await Promise.all([use(handle, sizeBytes), held.close()]);
    return used;
  } finally {
    await handle.close();
  }
}

async function openHeld(
  held: FileHandle,
  path: string,
): Promise<{ readonly handle: FileHandle; readonly sizeBytes: number }> {
  const facts = await held.stat();
  if (!facts.isFile()) throw new OutsideError("invalid", `read ${path}: not a regular file`);
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  return { handle: await open(`/proc/self/fd/${held.fd}`, flags), sizeBytes: facts.size };
}

/** `sizeBytes` as the file system reports it; files of /proc report 0. */
async function readBounded(
  handle: FileHandle,
  path: string,
  { sizeBytes, maxBytes }: { readonly sizeBytes: number; readonly maxBytes: number },
): Promise<Buffer> {
  const tooLong = () =>
    new OutsideError("exhausted", `read ${path}: longer than ${maxBytes} bytes`, {
      retryable: false,
    });
  if (sizeBytes > maxBytes) throw tooLong();
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    // One byte more than is expected shows the end without another read.
    const needed = sizeBytes > 0 && total === 0 ? sizeBytes + 1 : READ_CHUNK_BYTES;
    const length = Math.min(needed, READ_CHUNK_BYTES, maxBytes + 1 - total);
    const buffer = Buffer.allocUnsafe(length);
    const { bytesRead } = await handle.read(buffer, 0, length, null);
    if (bytesRead === 0) return Buffer.concat(chunks, total);
    total += bytesRead;
    if (total > maxBytes) throw tooLong();
    chunks.push(buffer.subarray(0, bytesRead));
    if (total === sizeBytes && bytesRead < length) return Buffer.concat(chunks, total);
  }
}

/** An unused name beside `path`. */
export function nameBeside(path: string): string {
  return join(dirname(path), `.tmp-${randomHex(8)}`);
}

async function writeAtomic(
  path: string,
  content: string | Uint8Array,
  mode: number,
): Promise<void> {
  const temporary = nameBeside(path);
  const handle = await open(temporary, "wx", mode);
  try {
    await handle.writeFile(content);
    if (isMasked(mode)) await handle.chmod(mode);
    await handle.sync();
  } catch (thrown) {
    await handle.close();
    await removeQuietly(temporary);
    throw thrown;
  }
  await handle.close();
  await putInPlace(temporary, path);
  await syncFolder(dirname(path));
}

/** Whether the mode has bits that a umask takes away: those of the group and of others. */
export function isMasked(mode: number): boolean {
  return (mode & 0o077) !== 0;
}

async function putInPlace(temporary: string, path: string): Promise<void> {
  try {
    await rename(temporary, path);
  } catch (thrown) {
    await removeQuietly(temporary);
    throw thrown;
  }
}

/** The first error is the one to report; a leftover temporary file is harmless. */
async function removeQuietly(path: string): Promise<void> {
  await unlink(path).catch(() => {});
}

/** Makes a rename in the folder survive a power cut. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function list(path: string): Promise<readonly FileEntry[] | undefined> {
  const entries = await orMissing(() => readdir(path, { withFileTypes: true }));
  return entries && namedEntries(entries);
}

/** Entries of a folder, sorted by name. */
export function namedEntries(entries: readonly Dirent[]): readonly FileEntry[] {
  return entries
    .map((entry) => ({ name: entry.name, kind: kindOf(entry) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function kindOf(
  entry: Pick<Stats, "isFile" | "isDirectory" | "isSymbolicLink" | "isSocket">,
): FileKind {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  if (entry.isSymbolicLink()) return "link";
  return entry.isSocket() ? "socket" : "other";
}

/** The facts of a name from stat(2). */
export function fileFactsOf(stats: Stats): FileFacts {
  return {
    kind: kindOf(stats),
    sizeBytes: stats.size,
    modifiedMs: stats.mtimeMs,
    version: `${stats.dev} ${stats.ino} ${stats.ctimeMs}`,
    mode: stats.mode & MODE_BITS,
    groupId: stats.gid,
    ...(stats.isCharacterDevice() ? { device: "character" } : {}),
    ...(stats.isBlockDevice() ? { device: "block" } : {}),
  };
}

async function remove(path: string): Promise<void> {
  await orMissing(async () => {
    try {
      await unlink(path);
    } catch (thrown) {
      if (errnoOf(thrown) !== "EISDIR") throw thrown;
      await rmdir(path);
    }
  });
}

async function link(target: string, path: string): Promise<void> {
  const temporary = nameBeside(path);
  await symlink(target, temporary);
  await putInPlace(temporary, path);
}

import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readdirSync,
  readlinkSync,
} from "node:fs";
import { derivedOnce } from "../../../kit/derived-once.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { largest } from "../../../kit/limits/lists.ts";
import type { MeasuredTree, TreeSize } from "../host.ts";
import { errnoOf, hostError } from "../host-errors.ts";
import { type MountEntry, mountPointsWithin } from "../mounts/parse-mountinfo.ts";

/** Bytes that `st_blocks` counts in, whatever the file system. */
const BLOCK_BYTES = 512n;

/** How long a walk goes on before it reports progress and checks whether it was cancelled. */
const SLICE_MS = 2;

/**
 * A folder of at most this size is listed by one call, which takes a third of the CPU. On the file systems that a node
 * keeps its pods on, such a folder has at most some thousand entries: sizes of folders grow with their entries.
 */
const SMALL_FOLDER_BYTES = 4_096n;

/**
 * How old the table of mounts may be when a folder is begun. Reading it costs as much as measuring an empty folder twice; a mount
 * that appears meanwhile may be asked, as one may that appears during the walk.
 */
const MOUNTS_MAX_AGE_MS = 20;

/** Folders held open at once, besides the top one: deeper down those above are closed, and opened again on the way up. */
const MAX_HELD = 64;

/** Errors that say a folder went away, or is no folder any more: containers write meanwhile. */
const VANISHED: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

/** Limits of a walk, the present mounts, and the progress callback. */
export interface WalkOptions {
  readonly maxEntries: number;
  readonly mounts: () => readonly MountEntry[];
  readonly onProgress?: () => void;
}

/** A walk and what it has counted. */
interface Walk {
  readonly device: bigint;
  /** Mounts below the folder, as paths from it: they are not even asked what they are, for some never answer. */
  readonly mounts: ReadonlySet<string>;
  /** Length of the longest of them: the path of a deeper folder is not even put together. */
  readonly longestMount: number;
  /** Files with several names that were counted already. */
  readonly counted: Set<bigint>;
  usedBytes: bigint;
  inodes: number;
  complete: boolean;
}

/** Measures one folder after the other; what cannot be measured fails alone. */
export async function measureTrees(
  paths: readonly string[],
  options: WalkOptions,
  signal: AbortSignal,
): Promise<readonly MeasuredTree[]> {
  const trees: MeasuredTree[] = [];
  const recent = { ...options, mounts: readAtMostEvery(MOUNTS_MAX_AGE_MS, options.mounts) };
  for (const path of paths) {
    try {
      const size = await measureTree(path, recent, signal);
      trees.push(size ? { kind: "measured", size } : { kind: "missing" });
    } catch (thrown) {
      signal.throwIfAborted();
      trees.push({ kind: "failed", message: hostError("measure", path, thrown).message });
    }
    options.onProgress?.();
  }
  return trees;
}

/** The same value again for so many milliseconds after it was read. */
function readAtMostEvery<T>(ms: number, read: () => T): () => T {
  let latest: { readonly value: T; readonly at: number } | undefined;
  return () => {
    const at = performance.now();
    if (!latest || at - latest.at >= ms) latest = { value: read(), at };
    return latest.value;
  };
}

/**
 * Disk usage of a folder tree, or of a plain file. Synchronous in short slices: one `lstat` costs a few
 * microseconds this way and tens through the thread pool. For file workers, which may wait for ever. Goes
 * from folder to folder by open descriptors, so that a container that puts a link in the place of a
 * folder leads nowhere.
 */
async function measureTree(
  path: string,
  options: WalkOptions,
  signal: AbortSignal,
): Promise<TreeSize | undefined> {
  if (!path.startsWith("/"))
    throw new OutsideError("invalid", `measure ${path}: the path is not absolute`);
  const startedAt = performance.now();
  // Asked first: an error for each file and for each missing folder costs more than this call for all.
  const facts = statOf(path);
  if (!facts?.isDirectory()) return facts && sizeOfFile(facts, startedAt);
  using root = openFolder(path);
  if (root === undefined) return undefined;
  const { dev, blocks } = root.facts;
  const mounts = mountsBelow(root, options.mounts());
  const walk: Walk = {
    device: dev,
    mounts,
    longestMount: largest(
      [...mounts].map(({ length }) => length),
      0,
    ),
    counted: new Set(),
    usedBytes: blocks * BLOCK_BYTES,
    inodes: 1,
    complete: true,
  };
  await stepThrough(entries(root, walk), walk, options, signal);
  return {
    usedBytes: Number(walk.usedBytes),
    inodes: walk.inodes,
    complete: walk.complete,
    device: Number(dev),
    tookMs: performance.now() - startedAt,
  };
}

/** A regular file by itself; links and special files count as no storage. */
function sizeOfFile(facts: BigIntStats, startedAt: number): TreeSize | undefined {
  if (!facts.isFile()) return undefined;
  return {
    usedBytes: Number(facts.blocks * BLOCK_BYTES),
    inodes: 1,
    complete: true,
    device: Number(facts.dev),
    tookMs: performance.now() - startedAt,
  };
}

/** Takes all steps of a walk, with pauses, up to the limit of entries. */
async function stepThrough(
  steps: Generator<void, void>,
  walk: Walk,
  { maxEntries, onProgress }: WalkOptions,
  signal: AbortSignal,
): Promise<void> {
  let began = performance.now();
  try {
    for (let step = steps.next(); !step.done; step = steps.next()) {
      if (walk.inodes >= maxEntries) {
        walk.complete = false;
        return;
      }
      if (performance.now() - began > SLICE_MS) {
        await new Promise((resolve) => setImmediate(resolve));
        signal.throwIfAborted();
        onProgress?.();
        began = performance.now();
      }
    }
  } finally {
    steps.return();
  }
}

/** A folder on the way from the top to the one that is listed. */
interface Level {
  /** Absent while too many deeper ones are open. */
  folder: OpenedFolder | undefined;
  readonly inode: bigint;
  /** Path from the top, for the comparison with mounts; absent where none lies below. */
  readonly shown: string | undefined;
  /** Names of folders in it that are still to be counted. */
  readonly beneath: string[];
}

/**
 * Counts one entry after the other; a folder that vanishes meanwhile is left out. Without recursion and with a limited
 * number of descriptors: a container makes folders as deep as it likes.
 */
function* entries(root: OpenedFolder, walk: Walk): Generator<void, void> {
  const levels: Level[] = [];
  const enter = (folder: OpenedFolder, shown: string | undefined): Level => {
    const level = { folder, inode: folder.facts.ino, shown, beneath: [] };
    levels.push(level);
    const tooMany = levels.length > MAX_HELD + 1 ? levels.at(-1 - MAX_HELD) : undefined;
    tooMany?.folder?.[Symbol.dispose]();
    if (tooMany) tooMany.folder = undefined;
    return level;
  };
  try {
    yield* countIn(root, enter(root, ""), walk);
    for (let level = levels.at(-1); level?.folder; level = levels.at(-1)) {
      const name = level.beneath.pop();
      if (name === undefined) {
        goUp(levels, walk);
        yield;
        continue;
      }
      const inner = openFolder(pathOf(name, level.folder));
      if (!inner) continue;
      yield* countIn(inner, enter(inner, shownBelow(level.shown, name, walk)), walk);
    }
  } finally {
    for (const { folder } of levels) folder?.[Symbol.dispose]();
  }
}

/** Counts the entries of a folder, and notes which of them are folders. */
function* countIn(folder: OpenedFolder, level: Level, walk: Walk): Generator<void, void> {
  // Another folder may stand there since it was counted.
  if (folder.facts.dev !== walk.device) return;
  for (const name of namesIn(folder)) {
    const shown = shownBelow(level.shown, name, walk);
    const isMount = shown !== undefined && walk.mounts.has(shown);
    if (!isMount && count(pathOf(name, folder), walk)) level.beneath.push(name);
    yield;
  }
}

/** The path of a name from the top; absent where neither it is a mount nor one lies below. */
function shownBelow(above: string | undefined, name: string, walk: Walk): string | undefined {
  if (above === undefined || above.length >= walk.longestMount) return undefined;
  return `${above}/${Buffer.from(name, "latin1").toString()}`;
}

/**
 * Leaves the last folder for the one above, which is opened by `..` when it was closed. Only if that is the folder that
 * the walk came from: whoever moved the last one meanwhile could lead the walk out of its tree. Then it goes
 * on at the nearest folder that is open, and what was still to be counted between is left out.
 */
function goUp(levels: Level[], walk: Walk): void {
  using left = levels.pop()?.folder;
  const above = levels.at(-1);
  if (!left || !above || above.folder) return;
  const parent = openFolder(`${left.path}/..`);
  if (parent?.facts.dev === walk.device && parent.facts.ino === above.inode) {
    above.folder = parent;
    return;
  }
  parent?.[Symbol.dispose]();
  for (let lost = levels.at(-1); lost && !lost.folder; lost = levels.at(-1)) {
    if (lost.beneath.length > 0) walk.complete = false;
    levels.pop();
  }
}

/** Names as Latin-1, which keeps every byte of those that are not UTF-8: a container names its files as it likes. */
function namesIn({ path, facts }: OpenedFolder): Iterable<string> {
  if (facts.size > SMALL_FOLDER_BYTES) return namesOneByOne(path);
  return orVanished(path, () => readdirSync(path, "latin1")) ?? [];
}

function* namesOneByOne(path: string): Generator<string, void> {
  const dir = orVanished(path, () => opendirSync(path, { encoding: "latin1" }));
  if (!dir) return;
  try {
    for (let entry = dir.readSync(); entry !== null; entry = dir.readSync()) yield entry.name;
  } finally {
    dir.closeSync();
  }
}

const BEYOND_ASCII = /[\u0080-\u00ff]/;

/** The path of a name in a folder that is held open. */
function pathOf(name: string, { path }: OpenedFolder): string | Buffer {
  if (!BEYOND_ASCII.test(name)) return `${path}/${name}`;
  return Buffer.concat([Buffer.from(`${path}/`), Buffer.from(name, "latin1")]);
}

const NO_MOUNTS: ReadonlySet<string> = new Set();

/** Mount points below the folder, as paths that begin with a slash at the folder. */
function mountsBelow({ path }: OpenedFolder, table: readonly MountEntry[]): ReadonlySet<string> {
  const real = readlinkSync(path);
  if (!foldersAboveMounts(table).has(real)) return NO_MOUNTS;
  return new Set(mountPointsWithin(table, real).map((point) => point.slice(real.length)));
}

/** All folders that a mount lies in at any depth: most folders that are measured are not among them. */
const foldersAboveMounts = derivedOnce((table: readonly MountEntry[]): ReadonlySet<string> => {
  const above = new Set(["/"]);
  for (const { mountPoint } of table)
    for (let at = mountPoint.lastIndexOf("/"); at > 0; at = mountPoint.lastIndexOf("/", at - 1)) {
      const folder = mountPoint.slice(0, at);
      if (above.has(folder)) break;
      above.add(folder);
    }
  return above;
});

/** Counts a file; returns whether it is a folder to descend into. */
function count(path: string | Buffer, walk: Walk): boolean {
  const facts = statOf(path);
  if (facts === undefined || facts.dev !== walk.device) return false;
  if (!facts.isDirectory() && facts.nlink > 1n) {
    if (walk.counted.has(facts.ino)) return false;
    walk.counted.add(facts.ino);
  }
  walk.usedBytes += facts.blocks * BLOCK_BYTES;
  walk.inodes += 1;
  return facts.isDirectory();
}

function statOf(path: string | Buffer): BigIntStats | undefined {
  return orVanished(path, () => lstatSync(path, { bigint: true, throwIfNoEntry: false }));
}

/** A folder that is held open, to be listed. */
class OpenedFolder implements Disposable {
  readonly #descriptor: number;
  #isOpen = true;
  readonly facts: BigIntStats;

  /** Opens it; throws the error of the system call. */
  constructor(path: string | Buffer) {
    this.#descriptor = openSync(
      path,
      constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
    );
    try {
      this.facts = fstatSync(this.#descriptor, { bigint: true });
    } catch (thrown) {
      closeSync(this.#descriptor);
      throw thrown;
    }
  }

  /** The same folder whatever is moved meanwhile. */
  get path(): string {
    return `/proc/self/fd/${this.#descriptor}`;
  }

  [Symbol.dispose](): void {
    if (this.#isOpen) closeSync(this.#descriptor);
    this.#isOpen = false;
  }
}

function openFolder(path: string | Buffer): OpenedFolder | undefined {
  return orVanished(path, () => new OpenedFolder(path));
}

function orVanished<T>(path: string | Buffer, read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if (VANISHED.has(errnoOf(thrown))) return undefined;
    throw hostError("measure", path.toString(), thrown);
  }
}

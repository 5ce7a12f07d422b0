import {
  type BigIntStats,
  closeSync,
  constants,
  type Dir,
  lstatSync,
  opendirSync,
  openSync,
  readlinkSync,
} from "node:fs";
import type { TreeSize } from "../host.ts";
import { errnoOf, hostError } from "../host-errors.ts";
import { type MountEntry, mountPointsWithin } from "../mounts/parse-mountinfo.ts";

/** Bytes that `st_blocks` counts in, whatever the file system. */
const BLOCK_BYTES = 512n;

/** How long a walk goes on before it reports progress and checks whether it was cancelled. */
const SLICE_MS = 2;

/** Folders held open at once: what lies deeper is not counted. */
const MAX_DEEP = 100;

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
  /** Files with several names that were counted already. */
  readonly counted: Set<bigint>;
  usedBytes: bigint;
  inodes: number;
  complete: boolean;
}

/**
 * What a folder with all it holds takes. Synchronous in short slices: asking for one file costs a few
 * microseconds this way and tens through the thread pool. For file workers, which may wait for ever. Goes
 * from folder to folder by open descriptors, so that a container that puts a link in the place of a
 * folder leads nowhere.
 */
export async function measureTree(
  path: string,
  { maxEntries, mounts, onProgress }: WalkOptions,
  signal: AbortSignal,
): Promise<TreeSize | undefined> {
  const root = statOf(path);
  if (root === undefined || !root.isDirectory()) return undefined;
  const usedBytes = root.blocks * BLOCK_BYTES;
  const counted = { usedBytes, inodes: 1, complete: true };
  const walk: Walk = {
    device: root.dev,
    mounts: mountsBelow(path, mounts()),
    counted: new Set(),
    ...counted,
  };
  const steps = entries(path, walk, "");
  let began = performance.now();
  try {
    for (let step = steps.next(); !step.done; step = steps.next()) {
      if (walk.inodes >= maxEntries) {
        walk.complete = false;
        break;
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
  return { usedBytes: Number(walk.usedBytes), inodes: walk.inodes, complete: walk.complete };
}

/** Counts one entry after the other; a folder that vanishes meanwhile is left out. */
function* entries(path: string, walk: Walk, shown: string, depth = 0): Generator<void, void> {
  const folder = openFolder(path);
  if (folder === undefined) return;
  const here = `/proc/self/fd/${folder.descriptor}`;
  try {
    const beneath: string[] = [];
    for (let entry = folder.dir.readSync(); entry !== null; entry = folder.dir.readSync()) {
      const isMount = walk.mounts.has(`${shown}/${entry.name}`);
      if (!isMount && count(`${here}/${entry.name}`, walk)) beneath.push(entry.name);
      yield;
    }
    if (beneath.length > 0 && depth >= MAX_DEEP) walk.complete = false;
    else
      for (const name of beneath)
        yield* entries(`${here}/${name}`, walk, `${shown}/${name}`, depth + 1);
  } finally {
    folder.dir.closeSync();
    closeSync(folder.descriptor);
  }
}

/** Mount points below the folder, as paths that begin with a slash at the folder. */
function mountsBelow(path: string, table: readonly MountEntry[]): ReadonlySet<string> {
  const folder = openFolder(path);
  if (!folder) return new Set();
  const real = readlinkSync(`/proc/self/fd/${folder.descriptor}`);
  folder.dir.closeSync();
  closeSync(folder.descriptor);
  return new Set(mountPointsWithin(table, real).map((point) => point.slice(real.length)));
}

/** Counts a file; returns whether it is a folder to descend into. */
function count(path: string, walk: Walk): boolean {
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

function statOf(path: string): BigIntStats | undefined {
  return orVanished(path, () => lstatSync(path, { bigint: true }));
}

function openFolder(path: string): { readonly dir: Dir; readonly descriptor: number } | undefined {
  return orVanished(path, () => {
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    const descriptor = openSync(path, flags);
    try {
      return { dir: opendirSync(`/proc/self/fd/${descriptor}`), descriptor };
    } catch (thrown) {
      closeSync(descriptor);
      throw thrown;
    }
  });
}

function orVanished<T>(path: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if (VANISHED.has(errnoOf(thrown))) return undefined;
    throw hostError("measure", path, thrown);
  }
}

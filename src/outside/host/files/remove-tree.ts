import { constants, readFileSync, readlinkSync } from "node:fs";
import { type FileHandle, open, opendir, rename, rmdir, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { OutsideError } from "../../../kit/errors.ts";
import { errnoOf, hostError, isMissing } from "../host-errors.ts";
import { mountPointsWithin, parseMountinfo } from "../mounts/parse-mountinfo.ts";
import { mountIdOf, nameIn, openFolderIn } from "./beneath.ts";

/** Folders held open at once; what lies deeper is first moved up, so a tree of any depth can be removed. */
const DEPTH_LIMIT = 24;

/** Times a folder is read again because somebody still puts things into it. */
const PASSES = 8;

/** Deep folders moved up in one removal; a tree that needs more is being grown while we work. */
const MOVES_LIMIT = 100_000;

/** Times a name that changes between file and folder is tried again. */
const RACE_ATTEMPTS = 8;

interface Removal {
  /** The folder that is removed, for messages. */
  readonly path: string;
  readonly top: FileHandle;
  readonly mountId: number;
  readonly onProgress: () => void;
  /** Folders that were moved up so far. */
  moved: number;
}

/**
 * Removes the folder `path` with all it holds; a link or file is removed itself, a missing path is fine.
 *
 * Every step starts from a folder held open and names one entry, so whoever exchanges names meanwhile
 * (a container that still runs) cannot lead the removal elsewhere. Mounts are looked for before anything
 * is removed, and each folder is checked again when it is opened.
 *
 * Errors: "precondition" when `path` is a mount point, one lies beneath it, or the folder keeps being filled.
 */
export async function removeTree(path: string, onProgress = () => {}): Promise<void> {
  let parent: FileHandle | undefined;
  try {
    parent = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
    await removeTopIn(parent, basename(path), { path, onProgress });
  } catch (thrown) {
    if (!isMissing(thrown)) throw hostError("remove", path, thrown);
  } finally {
    await parent?.close();
  }
}

async function removeTopIn(
  parent: FileHandle,
  name: string,
  { path, onProgress }: Pick<Removal, "path" | "onProgress">,
): Promise<void> {
  const top = await openOrUnlink(parent, Buffer.from(name));
  if (top === undefined) return;
  try {
    const mountId = mountIdOf(top);
    if (mountId !== mountIdOf(parent)) {
      throw new OutsideError("precondition", `remove ${path}: it is a mount point`);
    }
    refuseMounts(path, readlinkSync(`/proc/self/fd/${top.fd}`));
    await empty({ path, top, mountId, onProgress, moved: 0 }, top, 1);
  } finally {
    await top.close();
  }
  await rmdir(nameIn(parent, name));
}

function refuseMounts(path: string, realPath: string): void {
  const mounts = parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8"));
  const [first] = mountPointsWithin(mounts, realPath);
  if (first !== undefined) {
    throw new OutsideError("precondition", `remove ${path}: ${first} is a mount point`);
  }
}

/** The folder `name`, open; anything else of that name is removed and gives `undefined`. */
async function openOrUnlink(folder: FileHandle, name: Buffer): Promise<FileHandle | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openFolderIn(folder, name);
    } catch (thrown) {
      if (errnoOf(thrown) === "ENOENT") return undefined;
      // ELOOP or ENOTDIR: a link or file, removed by its name without being opened.
      if (errnoOf(thrown) !== "ENOTDIR" && errnoOf(thrown) !== "ELOOP") throw thrown;
    }
    try {
      await unlink(nameIn(folder, name));
      return undefined;
    } catch (thrown) {
      if (errnoOf(thrown) === "ENOENT") return undefined;
      if (errnoOf(thrown) !== "EISDIR" || attempt >= RACE_ATTEMPTS) throw thrown;
    }
  }
}

/** Removes everything in `folder`, which stays open throughout. */
async function empty(removal: Removal, folder: FileHandle, depth: number): Promise<void> {
  for (let passesLeft = PASSES; passesLeft > 0; ) {
    const movedBefore = removal.moved;
    let seen = 0;
    const reader = await opendir(`/proc/self/fd/${folder.fd}`, { encoding: "latin1" });
    for await (const entry of reader) {
      seen += 1;
      // Latin-1 keeps every byte of names that are not UTF-8.
      await removeEntry(removal, folder, Buffer.from(entry.name, "latin1"), depth);
    }
    if (seen === 0) return;
    if (removal.moved === movedBefore) passesLeft -= 1;
  }
  throw beingFilled(removal);
}

function beingFilled({ path }: Removal): OutsideError {
  return new OutsideError("precondition", `remove ${path}: it is being filled meanwhile`, {
    retryable: true,
  });
}

async function removeEntry(
  removal: Removal,
  folder: FileHandle,
  name: Buffer,
  depth: number,
): Promise<void> {
  removal.onProgress();
  const child = await openOrUnlink(folder, name);
  if (child === undefined) return;
  try {
    if (mountIdOf(child) !== removal.mountId) {
      throw new OutsideError(
        "precondition",
        `remove ${removal.path}: ${name.toString()} beneath it is a mount point`,
      );
    }
    if (depth >= DEPTH_LIMIT) {
      await moveUp(removal, folder, name);
      return;
    }
    await empty(removal, child, depth + 1);
  } finally {
    await child.close();
  }
  await removeEmptied(removal, folder, name);
}

/** Puts a deep folder directly below the top, where a later pass finds it. */
async function moveUp(removal: Removal, folder: FileHandle, name: Buffer): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    removal.moved += 1;
    if (removal.moved > MOVES_LIMIT) throw beingFilled(removal);
    try {
      await rename(nameIn(folder, name), nameIn(removal.top, `.moved-up-${removal.moved}`));
      return;
    } catch (thrown) {
      const taken = ["EEXIST", "ENOTEMPTY", "ENOTDIR"].includes(errnoOf(thrown));
      if (!taken || attempt >= RACE_ATTEMPTS) throw thrown;
    }
  }
}

async function removeEmptied(removal: Removal, folder: FileHandle, name: Buffer): Promise<void> {
  try {
    await rmdir(nameIn(folder, name));
  } catch (thrown) {
    // Filled or exchanged since: the next pass over `folder` sees it again.
    if (!["ENOENT", "ENOTDIR", "ENOTEMPTY"].includes(errnoOf(thrown))) {
      throw hostError("remove", `${removal.path}/…/${name.toString()}`, thrown);
    }
  }
}

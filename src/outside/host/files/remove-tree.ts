import {
  closeSync,
  constants,
  opendirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { OutsideError } from "../../../kit/errors.ts";
import { mountIdOf, nameIn, OPEN_FOLDER, type OpenHandle } from "../beneath.ts";
import { errnoOf, hostError, isMissing } from "../host-errors.ts";
import { mountPointsWithin, parseMountinfoAbout } from "../mounts/parse-mountinfo.ts";

/** Folders held open at once; what lies deeper is first moved up, so a tree of any depth can be removed. */
const DEPTH_LIMIT = 24;

/** Retries for a folder into which files are still written. */
const PASSES = 8;

/** Deep folders moved up in one removal; a tree that needs more is being grown while we work. */
const MOVES_LIMIT = 100_000;

/** Times a name that changes between file and folder is tried again. */
const RACE_ATTEMPTS = 8;

interface Removal {
  /** The folder that is removed, for messages. */
  readonly path: string;
  readonly top: OpenHandle;
  readonly mountId: number;
  readonly onProgress: () => void;
  /** Folders that were moved up so far. */
  moved: number;
}

/**
 * Removes the folder `path` with all it holds; a link or file is removed itself, a missing path is fine.
 *
 * Every step starts from a folder held open and names one entry, so whoever exchanges names meanwhile
 * (a container that still runs) cannot lead the removal elsewhere. Mounts are searched for before anything
 * is removed, and each folder is checked again when it is opened.
 *
 * Synchronous, for file workers and commands, which have nothing else to do meanwhile: a detour by Node's thread
 * pool for each call would take five times as much CPU. `onProgress` is called for each entry.
 *
 * Errors: "precondition" when `path` is a mount point, one lies beneath it, or the folder keeps being filled.
 */
export async function removeTree(path: string, onProgress = () => {}): Promise<void> {
  let parent: OpenHandle | undefined;
  try {
    parent = { fd: openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY) };
    removeTopIn(parent, basename(path), { path, onProgress });
  } catch (thrown) {
    if (!isMissing(thrown)) throw hostError("remove", path, thrown);
  } finally {
    if (parent) closeSync(parent.fd);
  }
}

function removeTopIn(
  parent: OpenHandle,
  name: string,
  { path, onProgress }: Pick<Removal, "path" | "onProgress">,
): void {
  const top = openOrUnlink(parent, Buffer.from(name));
  if (top === undefined) return;
  try {
    const mountId = mountIdOf(top);
    if (mountId !== mountIdOf(parent)) {
      throw new OutsideError("precondition", `remove ${path}: it is a mount point`);
    }
    refuseMounts(path, readlinkSync(`/proc/self/fd/${top.fd}`));
    empty({ path, top, mountId, onProgress, moved: 0 }, top, 1);
  } finally {
    closeSync(top.fd);
  }
  rmdirSync(nameIn(parent, name));
}

function refuseMounts(path: string, realPath: string): void {
  const mounts = parseMountinfoAbout(readFileSync("/proc/self/mountinfo", "utf8"), realPath);
  const [first] = mountPointsWithin(mounts, realPath);
  if (first !== undefined) {
    throw new OutsideError("precondition", `remove ${path}: ${first} is a mount point`);
  }
}

/** The folder `name`, open; anything else of that name is removed and gives `undefined`. */
function openOrUnlink(folder: OpenHandle, name: Buffer): OpenHandle | undefined {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return { fd: openSync(nameIn(folder, name), OPEN_FOLDER) };
    } catch (thrown) {
      if (errnoOf(thrown) === "ENOENT") return undefined;
      // ELOOP or ENOTDIR: a link or file, removed by its name without being opened.
      if (errnoOf(thrown) !== "ENOTDIR" && errnoOf(thrown) !== "ELOOP") throw thrown;
    }
    try {
      unlinkSync(nameIn(folder, name));
      return undefined;
    } catch (thrown) {
      if (errnoOf(thrown) === "ENOENT") return undefined;
      if (errnoOf(thrown) !== "EISDIR" || attempt >= RACE_ATTEMPTS) throw thrown;
    }
  }
}

/** Removes everything in `folder`, which stays open throughout. */
function empty(removal: Removal, folder: OpenHandle, depth: number): void {
  for (let passesLeft = PASSES; passesLeft > 0; ) {
    const movedBefore = removal.moved;
    let seen = 0;
    // Latin-1 keeps every byte of names that are not UTF-8.
    const reader = opendirSync(`/proc/self/fd/${folder.fd}`, { encoding: "latin1" });
    try {
      for (let entry = reader.readSync(); entry; entry = reader.readSync()) {
        seen += 1;
        removeEntry(removal, folder, Buffer.from(entry.name, "latin1"), depth);
      }
    } finally {
      reader.closeSync();
    }
    if (seen === 0) return;
    if (removal.moved === movedBefore) passesLeft -= 1;
  }
  throw beingFilled(removal);
}

function beingFilled({ path }: Removal): OutsideError {
  return new OutsideError("precondition", `remove ${path}: files are being added to it`, {
    retryable: true,
  });
}

function removeEntry(removal: Removal, folder: OpenHandle, name: Buffer, depth: number): void {
  removal.onProgress();
  const child = openOrUnlink(folder, name);
  if (child === undefined) return;
  try {
    if (mountIdOf(child) !== removal.mountId) {
      throw new OutsideError(
        "precondition",
        `remove ${removal.path}: ${name.toString()} beneath it is a mount point`,
      );
    }
    if (depth >= DEPTH_LIMIT) {
      moveUp(removal, folder, name);
      return;
    }
    empty(removal, child, depth + 1);
  } finally {
    closeSync(child.fd);
  }
  removeEmptied(removal, folder, name);
}

/** Puts a deep folder directly below the top, where a later pass finds it. */
function moveUp(removal: Removal, folder: OpenHandle, name: Buffer): void {
  for (let attempt = 1; ; attempt += 1) {
    removal.moved += 1;
    if (removal.moved > MOVES_LIMIT) throw beingFilled(removal);
    try {
      renameSync(nameIn(folder, name), nameIn(removal.top, `.moved-up-${removal.moved}`));
      return;
    } catch (thrown) {
      const taken = ["EEXIST", "ENOTEMPTY", "ENOTDIR"].includes(errnoOf(thrown));
      if (!taken || attempt >= RACE_ATTEMPTS) throw thrown;
    }
  }
}

function removeEmptied(removal: Removal, folder: OpenHandle, name: Buffer): void {
  try {
    rmdirSync(nameIn(folder, name));
  } catch (thrown) {
    // Filled or exchanged since: the next pass over `folder` sees it again.
    if (!["ENOENT", "ENOTDIR", "ENOTEMPTY"].includes(errnoOf(thrown))) {
      throw hostError("remove", `${removal.path}/…/${name.toString()}`, thrown);
    }
  }
}

import { constants, readlinkSync } from "node:fs";
import { chmod, type FileHandle, mkdir, open, readlink } from "node:fs/promises";
import { OutsideError } from "../../kit/errors.ts";
import { nameIn } from "./beneath.ts";
import { errnoOf, hostError } from "./host-errors.ts";

// A path that a container may have filled with links, walked one name at a time from folders held open:
// what a name means is decided when it is opened, and nothing is looked up by path again.

/** O_PATH of Linux (the same on x86-64 and arm64): a handle on a name that opens nothing. */
const O_PATH = 0o10000000;

const HOLD_FOLDER = O_PATH | constants.O_DIRECTORY;
const HOLD_NAME = O_PATH | constants.O_NOFOLLOW;

/** Links followed on one way, as the kernel (path_resolution(7)). */
const LINK_LIMIT = 40;

/** Names on one way after links are followed; more is an attempt to keep us busy. */
const STEP_LIMIT = 4096;

interface Walk {
  readonly shown: string;
  /** Real path of the root, for absolute links that lead back into it. */
  readonly realRoot: string;
  /** Open folders from the root to where the walk stands. */
  readonly folders: FileHandle[];
  /** Names still to go, nearest last. */
  readonly ahead: string[];
  links: number;
  steps: number;
}

/**
 * Holds what `relativePath` names below `root`, following links as long as they stay in `root`; missing
 * folders are made with `createMode`. The handle (O_PATH) stands for that very object. Errors: "invalid"
 * when the way leaves `root`, "notFound", "precondition" when a file is on the way.
 */
export async function holdBeneath(
  root: string,
  relativePath: string,
  createMode?: number,
): Promise<FileHandle> {
  const shown = `${root}/${relativePath}`;
  if (relativePath.includes("\0")) throw leaves(shown);
  const folders: FileHandle[] = [];
  try {
    const top = await open(root, HOLD_FOLDER);
    folders.push(top);
    const walk: Walk = {
      shown,
      realRoot: readlinkSync(`/proc/self/fd/${top.fd}`),
      folders,
      ahead: namesOf(relativePath),
      links: 0,
      steps: 0,
    };
    return await follow(walk, createMode);
  } catch (thrown) {
    if (errnoOf(thrown) === "ENOTDIR" && folders.length > 0) {
      const message = `open ${shown}: a part of the path is a file`;
      throw new OutsideError("precondition", message, { cause: thrown });
    }
    throw hostError("open", shown, thrown);
  } finally {
    for (const folder of folders) await folder.close();
  }
}

async function follow(walk: Walk, createMode: number | undefined): Promise<FileHandle> {
  for (;;) {
    walk.steps += 1;
    if (walk.steps > STEP_LIMIT) throw leaves(walk.shown);
    const here = walk.folders.at(-1);
    const name = walk.ahead.pop();
    if (here === undefined) throw leaves(walk.shown);
    if (name === undefined) return await open(`/proc/self/fd/${here.fd}`, HOLD_FOLDER);
    if (name === "..") {
      if (walk.folders.length === 1) throw leaves(walk.shown);
      await walk.folders.pop()?.close();
      continue;
    }
    const target = await linkTarget(here, name);
    if (target !== undefined) {
      await turn(walk, target);
      continue;
    }
    const held = await holdOrMake(here, name, createMode);
    const found = await step(walk, held, name);
    if (found !== undefined) return found;
  }
}

/** Goes one name on: into a folder, or to the end. A link that was created meanwhile is resolved again. */
async function step(walk: Walk, held: FileHandle, name: string): Promise<FileHandle | undefined> {
  let keep = false;
  try {
    const facts = await held.stat();
    if (facts.isSymbolicLink()) {
      walk.ahead.push(name);
      return undefined;
    }
    keep = true;
    if (walk.ahead.length === 0) return held;
    keep = facts.isDirectory();
    if (!keep) throw Object.assign(new Error("ENOTDIR"), { code: "ENOTDIR" });
    walk.folders.push(held);
    return undefined;
  } finally {
    if (!keep) await held.close();
  }
}

/** The target of the link; `undefined` for everything that is not a link, and for what is missing. */
async function linkTarget(folder: FileHandle, name: string): Promise<string | undefined> {
  try {
    return await readlink(nameIn(folder, name));
  } catch (thrown) {
    if (["EINVAL", "ENOENT"].includes(errnoOf(thrown))) return undefined;
    throw thrown;
  }
}

/** Prepends a link's target to the remaining names. */
async function turn(walk: Walk, target: string): Promise<void> {
  walk.links += 1;
  if (walk.links > LINK_LIMIT) throw leaves(walk.shown);
  if (!target.startsWith("/")) {
    walk.ahead.push(...namesOf(target));
    return;
  }
  const within = walk.realRoot === "/" ? "" : walk.realRoot;
  if (target !== within && !target.startsWith(`${within}/`)) throw leaves(walk.shown);
  while (walk.folders.length > 1) await walk.folders.pop()?.close();
  walk.ahead.push(...namesOf(target.slice(within.length)));
}

async function holdOrMake(
  folder: FileHandle,
  name: string,
  createMode: number | undefined,
): Promise<FileHandle> {
  const path = nameIn(folder, name);
  try {
    return await open(path, HOLD_NAME);
  } catch (thrown) {
    if (errnoOf(thrown) !== "ENOENT" || createMode === undefined) throw thrown;
  }
  try {
    await mkdir(path, createMode);
  } catch (thrown) {
    if (errnoOf(thrown) !== "EEXIST") throw thrown;
    return await open(path, HOLD_NAME);
  }
  const made = await open(path, HOLD_NAME);
  try {
    // The process' umask took bits away. What is no folder any more was replaced by another process.
    if ((await made.stat()).isDirectory()) await chmod(`/proc/self/fd/${made.fd}`, createMode);
    return made;
  } catch (thrown) {
    await made.close();
    throw thrown;
  }
}

/** The names of a path in the order they are popped. */
function namesOf(path: string): string[] {
  return path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .reverse();
}

function leaves(shown: string): OutsideError {
  return new OutsideError("invalid", `${shown} does not stay beneath its volume`);
}

import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statfsSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { OutsideError } from "../../../kit/errors.ts";
import { fileFactsOf, isMasked, nameBeside, namedEntries } from "../files/files.ts";
import type { DiskUsage, FileFacts, PodFiles } from "../host.ts";
import { errnoOf, hostError, isMissing } from "../host-errors.ts";

/** The most frequent operations of a worker, a few system calls each. */
type QuickFiles = Pick<
  PodFiles,
  | "facts"
  | "factsOfAll"
  | "link"
  | "list"
  | "makeDirectory"
  | "makeDirectories"
  | "remove"
  | "rename"
  | "writeAtomic"
>;

/**
 * The most frequent operations, synchronous: a worker has nothing else to do meanwhile, and the way through
 * Node's thread pool costs it three times as much.
 */
export function createQuickFiles(): QuickFiles {
  return {
    facts: async (path, options) => facts(path, options?.follow),
    factsOfAll: async (paths, options) => paths.map((path) => facts(path, options?.follow)),
    list: async (path) =>
      guarded("list", path, () =>
        orMissing(() => namedEntries(readdirSync(path, { withFileTypes: true }))),
      ),
    link: async (target, path, options) => {
      if (options?.ifTargetExists && !facts(target)) return;
      guarded("link", path, () => link(target, path));
    },
    makeDirectory: async (path, mode) => {
      makeDirectory(path, mode);
    },
    makeDirectories: async (folders) => folders.map(({ path, mode }) => makeDirectory(path, mode)),
    remove: async (path) => guarded("remove", path, () => orMissing(() => remove(path))),
    rename: async (from, to) =>
      guarded("rename", `${from} to ${to}`, () => renameSync(from, to), from),
    writeAtomic: async (path, content, mode) =>
      guarded("write", path, () => writeAtomic(path, content, mode)),
  };
}

/**
 * Usage of the file system that holds `path`, as unprivileged users see it (root's reserve counts as used);
 * `undefined` when the path is missing.
 */
export async function readDiskUsage(path: string): Promise<DiskUsage | undefined> {
  return guarded("measure disk of", path, () =>
    orMissing(() => {
      const facts = statfsSync(path, { bigint: true });
      return {
        capacityBytes: Number(facts.blocks * facts.bsize),
        availableBytes: Number(facts.bavail * facts.bsize),
        inodes: Number(facts.files),
        inodesFree: Number(facts.ffree),
        device: statSync(path).dev,
      };
    }),
  );
}

function facts(path: string, follow = false): FileFacts | undefined {
  return guarded("stat", path, () =>
    orMissing(() => fileFactsOf(follow ? statSync(path) : lstatSync(path))),
  );
}

/** Whether it was missing. */
function makeDirectory(path: string, mode: number): boolean {
  return guarded("make folder", path, () => {
    const firstMade = mkdirSync(path, { recursive: true, mode });
    chmodSync(path, mode);
    return firstMade !== undefined;
  });
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (thrown) {
    if (errnoOf(thrown) !== "EISDIR") throw thrown;
    rmdirSync(path);
  }
}

function link(target: string, path: string): void {
  const temporary = nameBeside(path);
  symlinkSync(target, temporary);
  try {
    renameSync(temporary, path);
  } catch (thrown) {
    removeQuietly(temporary);
    throw thrown;
  }
}

/** As `writeAtomic` of `Files`: on disk, with its name, before it returns. */
function writeAtomic(path: string, content: string | Uint8Array, mode: number): void {
  const temporary = nameBeside(path);
  const descriptor = openSync(temporary, "wx", mode);
  try {
    fillAndClose(descriptor, content, mode);
    renameSync(temporary, path);
  } catch (thrown) {
    removeQuietly(temporary);
    throw thrown;
  }
  syncFolder(dirname(path));
}

function fillAndClose(descriptor: number, content: string | Uint8Array, mode: number): void {
  try {
    writeFileSync(descriptor, content);
    if (isMasked(mode)) fchmodSync(descriptor, mode);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The first error is the one to report; a leftover temporary file is harmless. */
function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {}
}

function syncFolder(path: string): void {
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function guarded<T>(action: string, shown: string, work: () => T, path = shown): T {
  if (!path.startsWith("/"))
    throw new OutsideError("invalid", `${action} ${shown}: the path is not absolute`);
  try {
    return work();
  } catch (thrown) {
    throw hostError(action, shown, thrown);
  }
}

function orMissing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    throw thrown;
  }
}

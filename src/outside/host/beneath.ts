import { constants, readFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { OutsideError } from "../../kit/errors.ts";
import { errnoOf, hostError } from "./host-errors.ts";

// Node has no openat(2). A path through /proc/self/fd/N starts at the open folder N whatever happens to
// the names that led to it, and with O_NOFOLLOW on a single further name nothing else is resolved.

/** O_PATH of Linux (the same on x86-64 and arm64): a handle on a name that opens nothing. */
export const O_PATH = 0o10000000;

/** Open files, by handle. */
export interface OpenHandle {
  readonly fd: number;
}

/** Flags that open a folder, never through a link. */
export const OPEN_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** The path by which `name` in the open folder `folder` is reached; bytes, for names that are not UTF-8. */
export function nameIn(folder: OpenHandle, name: Buffer | string): Buffer {
  return Buffer.concat([
    Buffer.from(`/proc/self/fd/${folder.fd}/`),
    typeof name === "string" ? Buffer.from(name) : name,
  ]);
}

/** Opens the folder `name` in `folder`; a link or file fails with ENOTDIR. */
export function openFolderIn(folder: FileHandle, name: Buffer | string): Promise<FileHandle> {
  return open(nameIn(folder, name), OPEN_FOLDER);
}

/** Opens a folder by its path, whose own last part must not be a link. */
export function openFolder(path: string): Promise<FileHandle> {
  return open(path, OPEN_FOLDER);
}

/** The kernel's number of the mount that an open file lies on; it distinguishes bind mounts of one disk. */
export function mountIdOf(handle: OpenHandle): number {
  const text = readFileSync(`/proc/self/fdinfo/${handle.fd}`, "utf8");
  return Number(/^mnt_id:\s*(\d+)$/m.exec(text)?.[1] ?? Number.NaN);
}

/** The parts of a relative path; `..`, absolute paths and NUL are an `OutsideError` "invalid". */
function partsOf(relativePath: string): readonly string[] {
  const parts = relativePath.split("/").filter((part) => part !== "" && part !== ".");
  if (relativePath.startsWith("/") || relativePath.includes("\0") || parts.includes("..")) {
    throw new OutsideError(
      "invalid",
      `path ${JSON.stringify(relativePath)} does not stay beneath its root`,
    );
  }
  return parts;
}

/**
 * Opens `relativePath` below `root` following no link in any part, even when names are exchanged while
 * it walks. `root` itself is trusted and may be reached through links. Only regular files and folders
 * are opened: a pipe would block and a device may act.
 *
 * `flags` as for open(2); nothing is created. Errors: "notFound", "precondition" (link, wrong kind), "invalid"
 * (path leaves `root`).
 */
export async function openBeneath(
  root: string,
  relativePath: string,
  flags: number,
): Promise<FileHandle> {
  const shown = `${root}/${relativePath}`;
  const parts = partsOf(relativePath);
  const last = parts.at(-1);
  let folder: FileHandle | undefined;
  try {
    folder = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
    for (const part of parts.slice(0, -1)) {
      const next = await openFolderIn(folder, part);
      await folder.close();
      folder = next;
    }
    if (last === undefined) {
      const opened = folder;
      folder = undefined;
      return opened;
    }
    return await openExisting(nameIn(folder, last), shown, flags);
  } catch (thrown) {
    throw beneathError(thrown, folder !== undefined, shown);
  } finally {
    await folder?.close();
  }
}

/** ENOTDIR inside an open root means a link or file on the way, which is not "missing". */
function beneathError(thrown: unknown, rootIsOpen: boolean, shown: string): OutsideError {
  if (errnoOf(thrown) !== "ENOTDIR" || !rootIsOpen) return hostError("open", shown, thrown);
  const message = `open ${shown}: a part of the path is a link or a file`;
  return new OutsideError("precondition", message, { cause: thrown });
}

/** Opens the name by O_PATH, checks its kind, and only then opens that very object. */
async function openExisting(path: Buffer, shown: string, flags: number): Promise<FileHandle> {
  const held = await open(path, O_PATH | constants.O_NOFOLLOW);
  try {
    const facts = await held.stat();
    if (!facts.isFile() && !facts.isDirectory()) {
      throw new OutsideError("precondition", `open ${shown}: neither a regular file nor a folder`);
    }
    return await open(`/proc/self/fd/${held.fd}`, flags & ~constants.O_NOFOLLOW);
  } finally {
    await held.close();
  }
}

import { constants, readFileSync } from "node:fs";
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  realpath,
  rmdir,
  stat,
  unlink,
} from "node:fs/promises";
import { basename, dirname } from "node:path";
import { isOutside, OutsideError } from "../../../kit/errors.ts";
import { errnoOf, hostError, isMissing } from "../host-errors.ts";
import { holdBeneath } from "../resolve-beneath.ts";
import type { BindMount, MountPoint, ServerMount } from "../volume-files.ts";
import {
  type MountEntry,
  mountOf,
  mountPointsWithin,
  parseMountinfo,
  parseMountinfoAbout,
} from "./parse-mountinfo.ts";
import type { RunProgram } from "./programs.ts";

// Node has no mount(2); the program of the machine makes the system call. It is called so that it does not resolve paths by
// itself, it hands them to the kernel as they are, and a descriptor it inherits stays what it was.

/** Paths and the table of mounts are left to the kernel. */
export const AS_GIVEN = ["-c", "-n"];

/** Folders and files on which a place in a volume is mounted. */
const TARGET_FOLDER_MODE = 0o750;
const TARGET_FILE_MODE = 0o640;

/** Mounts on top of one another that are taken away before it is given up. */
const MOUNTS_LIMIT = 32;

/** All mounts this process sees. The kernel makes the table up from memory and asks no file system for it. */
export function mountTable(): readonly MountEntry[] {
  return parseMountinfo(readMountinfo());
}

const readMountinfo = () => readFileSync("/proc/self/mountinfo", "utf8");

/**
 * As `mountTable`, for who reads it again and again: it is parsed only when it has changed, and the same table is
 * returned until then. With a hundred pods parsing takes several milliseconds.
 */
export function mountTableReader(
  readText: () => string = readMountinfo,
): () => readonly MountEntry[] {
  let known: { readonly text: string; readonly table: readonly MountEntry[] } | undefined;
  return () => {
    const text = readText();
    if (known?.text !== text) known = { text, table: parseMountinfo(text) };
    return known.table;
  };
}

/** The path as the kernel shows it. The last name may be a mount point that does not answer (a dead file server). */
export async function realPlace(path: string): Promise<string> {
  const folder = dirname(path);
  const real = await realpath(folder).catch(() => folder);
  return `${real}/${basename(path)}`.replace(/^\/\//, "/");
}

/** See `VolumeFiles`. */
export async function mountsWithin(path: string): Promise<readonly MountPoint[]> {
  const root = await realPlace(path);
  return parseMountinfoAbout(readMountinfo(), root)
    .filter(({ mountPoint }) => mountPoint === root || mountPoint.startsWith(`${root}/`))
    .map(({ mountPoint, fsType, source, readOnly, superOptions }) => ({
      path: path + mountPoint.slice(root.length),
      fsType,
      source,
      readOnly,
      options: superOptions,
    }));
}

/** Mounting and unmounting through the programs of the machine. */
export class Mounts {
  readonly #run: RunProgram;
  /** Whether the kernel can keep tmpfs out of swap (since 6.4); found out by trying. */
  #noSwap: boolean | undefined;

  constructor(run: RunProgram) {
    this.#run = run;
  }

  async memory(path: string, { sizeBytes }: { readonly sizeBytes?: number }): Promise<void> {
    const size = sizeBytes === undefined ? [] : [`size=${sizeBytes}`];
    if (this.#noSwap !== false) {
      try {
        await this.#tmpfs(path, [...size, "noswap"]);
        this.#noSwap = true;
        return;
      } catch (thrown) {
        if (this.#noSwap === true || !isOutside(thrown, "io")) throw thrown;
      }
    }
    await this.#tmpfs(path, size);
    this.#noSwap = false;
  }

  async #tmpfs(path: string, options: readonly string[]): Promise<void> {
    const set = options.length > 0 ? ["-o", options.join(",")] : [];
    await this.#run("mount", [...AS_GIVEN, "-t", "tmpfs", ...set, "tmpfs", path]);
  }

  async hugePages(
    path: string,
    { pageBytes, sizeBytes }: { readonly pageBytes: number; readonly sizeBytes: number },
  ): Promise<void> {
    const options = `pagesize=${pageBytes / 1024}K,size=${sizeBytes}`;
    await this.#run("mount", [...AS_GIVEN, "-t", "hugetlbfs", "-o", options, "nodev", path]);
  }

  /** Options of a bind are set in a second step: the kernel takes none with the first. */
  async bind(source: string, target: string, options: readonly string[] = []): Promise<void> {
    await this.#run("mount", [...AS_GIVEN, "--bind", source, target]);
    if (options.length === 0) return;
    try {
      const all = ["bind", "remount", ...options].join(",");
      await this.#run("mount", [...AS_GIVEN, "-o", all, source, target]);
    } catch (thrown) {
      await this.unmount(target);
      throw thrown;
    }
  }

  async server({ source, target, fsType, options }: ServerMount): Promise<void> {
    const set = options.length > 0 ? ["-o", options.join(",")] : [];
    try {
      await this.#run("mount", [...AS_GIVEN, "-t", fsType, ...set, "--", source, target]);
    } catch (thrown) {
      // The program may have failed after the kernel had mounted it.
      await this.unmount(target).catch(() => {});
      throw thrown;
    }
  }

  async makeShared(path: string): Promise<boolean> {
    const real = await realPlace(path);
    const table = mountTable();
    if (mountOf(table, real)?.shared === true) return false;
    const isMount = mountPointsWithin(table, real).includes(real);
    const [below] = mountPointsWithin(table, `${real}/`);
    if (!isMount && below !== undefined)
      throw new OutsideError(
        "precondition",
        `${path} contains mounts that would be hidden: ${below}`,
      );
    if (!isMount) await this.#run("mount", [...AS_GIVEN, "--bind", real, real]);
    try {
      await this.#run("mount", [...AS_GIVEN, "--make-rshared", real]);
    } catch (thrown) {
      if (!isMount) await this.unmount(real);
      throw thrown;
    }
    return true;
  }

  async bindBeneath(mount: BindMount): Promise<void> {
    const held = await holdBeneath(mount.root, mount.relativePath, mount.createMode);
    try {
      const { target } = mount;
      if (await shows(held, target)) return;
      for (let left = MOUNTS_LIMIT; await isMounted(target); left -= 1) {
        if (left === 0) throw new OutsideError("precondition", `${target} stays mounted`);
        // Lazily: a file system that answers nobody must not hold up the container's start.
        await this.#run("umount", [...AS_GIVEN, "-l", target]);
      }
      await makeTarget(held, target);
      await this.#run("mount", [...AS_GIVEN, "--bind", "/proc/self/fd/3", target], [held.fd]);
    } catch (thrown) {
      throw hostError("bind", `${mount.root}/${mount.relativePath}`, thrown);
    } finally {
      await held.close();
    }
  }

  async unmount(path: string): Promise<void> {
    if (!(await isMounted(path))) return;
    try {
      await this.#run("umount", [...AS_GIVEN, path]);
    } catch (thrown) {
      if (await isMounted(path)) throw thrown;
    }
  }
}

/**
 * What a mount fails with whose file system is gone (mount-utils IsCorruptedMnt), and what FUSE says to a request that was
 * under way as its server ended.
 */
const STALE: ReadonlySet<string | undefined> = new Set([
  "ENOTCONN",
  "ECONNABORTED",
  "ESTALE",
  "EIO",
  "EACCES",
  "EHOSTDOWN",
  "EWOULDBLOCK",
  "EAGAIN",
]);

/** Whether the very object is mounted at the target already; a mount whose file system is gone shows nothing. */
async function shows(held: FileHandle, target: string): Promise<boolean> {
  if (!(await isMounted(target))) return false;
  const expected = await held.stat({ bigint: true });
  try {
    const present = await stat(target, { bigint: true });
    return expected.ino === present.ino && expected.dev === present.dev;
  } catch (thrown) {
    if (STALE.has(errnoOf(thrown))) return false;
    throw thrown;
  }
}

async function isMounted(target: string): Promise<boolean> {
  return (await mountAt(target)) !== undefined;
}

/** The topmost mount at a path. */
export async function mountAt(target: string): Promise<MountEntry | undefined> {
  const real = await realPlace(target);
  return mountTable().findLast(({ mountPoint }) => mountPoint === real);
}

/** An empty folder or file to mount on, of the kind of the source. */
export async function makeTarget(held: FileHandle, target: string): Promise<void> {
  const isFolder = (await held.stat()).isDirectory();
  await mkdir(dirname(target), { recursive: true, mode: TARGET_FOLDER_MODE });
  const present = await lstat(target).catch((thrown: unknown) => {
    if (isMissing(thrown)) return undefined;
    throw thrown;
  });
  if (present !== undefined) {
    if (present.isDirectory() === isFolder && !present.isSymbolicLink()) return;
    await (present.isDirectory() ? rmdir(target) : unlink(target));
  }
  if (isFolder) await mkdir(target, { mode: TARGET_FOLDER_MODE });
  else {
    const flags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY;
    await (await open(target, flags, TARGET_FILE_MODE)).close();
    await chmod(target, TARGET_FILE_MODE);
  }
}

import {
  closeSync,
  constants,
  type Dirent,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeSync,
} from "node:fs";
import { isFileName } from "../../../api/text/path-names.ts";
import type { Clock } from "../../../kit/clock.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { errnoOf, hostError } from "../host-errors.ts";

// Shared by both versions of cgroups. The kernel answers at once, so these calls are
// synchronous: a read costs a few microseconds this way and ten times as much through the thread pool.

/** Pauses between the rounds of killing and removing; the first round starts at once. */
const DESTROY_PAUSES_MS = [10, 20, 40, 80, 160] as const;

/** Errors that say a group or its file is not there (any more). */
const GONE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ENODEV"]);

/** Whether `thrown` says that a group or a file of it is not there. */
export function isGone(thrown: unknown): boolean {
  return GONE.has(errnoOf(thrown));
}

/**
 * The parts of a group's path; `/` has none. A path that is not absolute or has empty, `.` or `..` parts
 * is an `OutsideError` "invalid".
 */
export function groupParts(path: string): readonly string[] {
  if (path === "/") return [];
  const [first, ...parts] = path.split("/");
  if (first !== "" || parts.length === 0 || !parts.every(isFileName)) {
    throw new OutsideError(
      "invalid",
      `${JSON.stringify(path)} is not an absolute path of a cgroup`,
    );
  }
  return parts;
}

/** Refuses names that would lead out of the group. */
export function checkFileName(path: string, file: string): void {
  if (!/^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$/.test(file)) {
    throw new OutsideError(
      "invalid",
      `cgroup ${path}: ${JSON.stringify(file)} is not a control file`,
    );
  }
}

/** A control file's text without its last newline; `undefined` when it is not there. */
export function readControl(filePath: string): string | undefined {
  try {
    return readFileSync(filePath, "utf8").replace(/\n$/, "");
  } catch (thrown) {
    if (isGone(thrown)) return undefined;
    throw thrown;
  }
}

/**
 * Writes in a single call and without creating, as the kernel requires. As from a shell, a plain file that stands in for the
 * kernel's own keeps nothing of a longer value.
 */
export function writeControl(filePath: string, value: string): void {
  const descriptor = openSync(filePath, constants.O_WRONLY | constants.O_TRUNC);
  try {
    writeSync(descriptor, value);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes one group whose parent is there; one that exists is fine. */
export function makeGroup(folder: string): void {
  try {
    mkdirSync(folder, 0o755);
  } catch (thrown) {
    if (errnoOf(thrown) !== "EEXIST") throw thrown;
  }
}

/** Names of the groups directly in `folder`, sorted. */
export function subgroupsOf(folder: string): readonly string[] {
  let entries: readonly Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch (thrown) {
    if (isGone(thrown)) return [];
    throw thrown;
  }
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

/** `folder` and all groups beneath it, parents before children. */
function subtreeOf(folder: string): readonly string[] {
  const folders = [folder];
  for (const current of folders) {
    for (const name of subgroupsOf(current)) folders.push(`${current}/${name}`);
  }
  return folders;
}

/** Processes of one group, by the numbers of our own process namespace. */
export function pidsIn(folder: string): readonly number[] {
  let text: string | undefined;
  try {
    text = readControl(`${folder}/cgroup.procs`);
  } catch (thrown) {
    // A threaded group lists its processes only at the root of its domain.
    if (["ENOTSUP", "EOPNOTSUPP"].includes(errnoOf(thrown))) return [];
    throw thrown;
  }
  return parsePids(text ?? "");
}

/**
 * The process ids of a `cgroup.procs`. Processes of other namespaces appear as 0 and are left out: a
 * signal to "0" would reach our own process group.
 */
export function parsePids(text: string): readonly number[] {
  return text
    .split("\n")
    .map(Number)
    .filter((pid) => Number.isSafeInteger(pid) && pid > 0);
}

/** Processes in the folders and beneath, each once, in rising order. */
export function processesIn(folders: readonly string[]): readonly number[] {
  const pids = new Set(folders.flatMap(subtreeOf).flatMap(pidsIn));
  return [...pids].sort((a, b) => a - b);
}

/** Where cgroups of version 2 say that they are frozen. */
export const FREEZER_V2 = { file: "cgroup.freeze", thawed: "0" } as const;

/** Thaws the groups at and beneath `folder`, parents first: beneath a frozen one nothing thaws. */
export function thawFolders(
  folder: string,
  { file, thawed }: { readonly file: string; readonly thawed: string },
): void {
  for (const current of subtreeOf(folder)) {
    const state = `${current}/${file}`;
    try {
      const value = readControl(state);
      if (value !== undefined && value !== thawed) writeControl(state, thawed);
    } catch (thrown) {
      if (!isGone(thrown)) throw hostError("thaw cgroup", current, thrown);
    }
  }
}

/** Ends everything in the folders and beneath by SIGKILL; ids are read and used without a pause between. */
export function killAll(path: string, folders: readonly string[]): void {
  for (const pid of processesIn(folders)) {
    if (pid === process.pid) {
      throw new OutsideError(
        "precondition",
        `destroy cgroup ${path}: this process itself is in it`,
      );
    }
    try {
      process.kill(pid, "SIGKILL");
    } catch (thrown) {
      if (errnoOf(thrown) !== "ESRCH")
        throw hostError(`kill process ${pid} of cgroup`, path, thrown);
    }
  }
}

/** A group that is to end with all that runs in it. */
interface Destruction {
  readonly clock: Clock;
  readonly path: string;
  /** The group's folder in each hierarchy. */
  readonly folders: readonly string[];
  /** Ends what runs in the group; called before every attempt to remove one that is not empty. */
  readonly kill: () => void;
}

/**
 * Kills and removes, children first, until nothing is left or the rounds are used up; then an
 * `OutsideError` "precondition" (retryable) names the folder that would not go.
 */
export async function destroyGroups(destruction: Destruction): Promise<void> {
  const { clock, path, kill } = destruction;
  const folders = destruction.folders.filter((folder) => !removeEmpty(folder));
  if (folders.length === 0) return;
  for (let round = 0; ; round += 1) {
    kill();
    const stuck = folders.map(removeSubtree).find((failure) => failure !== undefined);
    if (stuck === undefined) return;
    const pauseMs = DESTROY_PAUSES_MS[round];
    if (pauseMs === undefined || errnoOf(stuck.thrown) !== "EBUSY") {
      throw hostError(`remove ${stuck.folder} of cgroup`, path, stuck.thrown);
    }
    await new Promise<void>((resolve) => {
      clock.alarm(pauseMs, resolve);
    });
  }
}

/**
 * Whether the group is gone now. The kernel removes none in which something runs or beneath which something stands: one
 * call, where searching for either takes six, and most groups that are to end are empty.
 */
function removeEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (thrown) {
    // What keeps it is found out, and named, by those who kill and remove.
    return isGone(thrown);
  }
}

/** Removes what can be removed; what could not be is named. */
function removeSubtree(folder: string): { folder: string; thrown: unknown } | undefined {
  let failure: { folder: string; thrown: unknown } | undefined;
  for (const current of subtreeOf(folder).toReversed()) {
    try {
      rmdirSync(current);
    } catch (thrown) {
      if (!isGone(thrown)) failure ??= { folder: current, thrown };
    }
  }
  return failure;
}

import type { Clock } from "../../../kit/clock.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { KeptFiles } from "../files/kept-files.ts";
import type { CgroupTree } from "../host.ts";
import { errnoOf, hostError } from "../host-errors.ts";
import {
  checkFileName,
  destroyGroups,
  FREEZER_V2,
  groupParts,
  isGone,
  killAll,
  makeGroup,
  pidsIn,
  processesIn,
  readControl,
  subgroupsOf,
  thawFolders,
  writeControl,
} from "./cgroup-folders.ts";
import { watchMemoryFiles } from "./memory-notification.ts";

/** Controllers that, as far as the machine has them, every group of ours needs. */
const REQUIRED = ["cpu", "cpuset", "memory", "hugetlb", "pids"] as const;

/** Cgroups of version 2, from the unified hierarchy mounted at `mountPoint`. */
export function createCgroupTreeV2(clock: Clock, mountPoint: string): CgroupTree {
  return new CgroupTreeV2(clock, mountPoint);
}

class CgroupTreeV2 implements CgroupTree {
  readonly version = 2;
  readonly controllers: ReadonlySet<string>;
  readonly #clock: Clock;
  readonly #mountPoint: string;
  readonly #required: readonly string[];
  readonly #keptFiles = new KeptFiles((path, file) => this.#fileOf(path, file));

  constructor(clock: Clock, mountPoint: string) {
    this.#clock = clock;
    this.#mountPoint = mountPoint;
    this.controllers = controllersOf(mountPoint);
    this.#required = REQUIRED.filter((controller) => this.controllers.has(controller));
  }

  exists(path: string): Promise<boolean> {
    return named("read cgroup", path, () => {
      const folder = this.#folderOf(path);
      const text = readControl(`${folder}/cgroup.controllers`);
      return text !== undefined && this.#missingAt(folder).length === 0;
    });
  }

  create(path: string): Promise<void> {
    return named("create cgroup", path, () => {
      const refused = createLevels(this.#mountPoint, path);
      const missing = this.#missingAt(this.#folderOf(path));
      if (missing.length > 0) throw missingControllers(path, missing, refused);
    });
  }

  read(path: string, file: string): Promise<string | undefined> {
    return named(`read ${file} of cgroup`, path, () => readControl(this.#fileOf(path, file)));
  }

  readNow(path: string, files: readonly string[]): readonly (string | undefined)[] {
    return files.map((file) => this.#keptFiles.read(path, file));
  }

  write(path: string, file: string, value: string): Promise<void> {
    return named(`write ${JSON.stringify(value)} to ${file} of cgroup`, path, () =>
      writeControl(this.#fileOf(path, file), value),
    );
  }

  watchMemory(path: string, onPressure: () => void, signal: AbortSignal): readonly string[] {
    const watched = { stalls: this.#mountPoint, limit: this.#folderOf(path) };
    return watchMemoryFiles(watched, onPressure, signal);
  }

  children(path: string): Promise<readonly string[]> {
    return named("list children of cgroup", path, () => subgroupsOf(this.#folderOf(path)));
  }

  members(path: string): Promise<readonly number[]> {
    return named("list members of cgroup", path, () => pidsIn(this.#folderOf(path)));
  }

  processes(path: string): Promise<readonly number[]> {
    return named("list processes of cgroup", path, () => processesIn([this.#folderOf(path)]));
  }

  async thaw(path: string): Promise<void> {
    thawFolders(this.#folderOf(path), FREEZER_V2);
  }

  async destroy(path: string): Promise<void> {
    if (groupParts(path).length === 0) {
      throw new OutsideError("invalid", "destroy cgroup /: the root stays");
    }
    const folder = this.#folderOf(path);
    const kill = () => killGroup(path, folder);
    await destroyGroups({ clock: this.#clock, path, folders: [folder], kill });
  }

  #folderOf(path: string): string {
    return [this.#mountPoint, ...groupParts(path)].join("/");
  }

  #fileOf(path: string, file: string): string {
    checkFileName(path, file);
    return `${this.#folderOf(path)}/${file}`;
  }

  #missingAt(folder: string): readonly string[] {
    const usable = controllersOf(folder);
    return this.#required.filter((controller) => !usable.has(controller));
  }
}

/** Does the work at once; what it throws names action and group. */
async function named<T>(action: string, path: string, work: () => T): Promise<T> {
  try {
    return work();
  } catch (thrown) {
    throw hostError(action, path, thrown);
  }
}

function controllersOf(folder: string): ReadonlySet<string> {
  const text = readControl(`${folder}/cgroup.controllers`) ?? "";
  return new Set(text.split(" ").filter((name) => name !== ""));
}

/**
 * Makes every level of `path`, each with the controllers its parent can hand down. What the kernel
 * refused to hand down is returned: whether it matters is seen at the group itself.
 */
function createLevels(mountPoint: string, path: string): OutsideError | undefined {
  let folder = mountPoint;
  let shown = "";
  let refused: OutsideError | undefined;
  for (const part of groupParts(path)) {
    const failure = delegate(folder, shown || "/");
    refused ??= failure;
    folder = `${folder}/${part}`;
    shown = `${shown}/${part}`;
    makeGroup(folder);
    const type = readControl(`${folder}/cgroup.type`) ?? "domain";
    if (type !== "domain") {
      throw new OutsideError(
        "precondition",
        `create cgroup ${path}: ${shown}/cgroup.type is ${JSON.stringify(type)}, which cannot hold processes with all controllers`,
      );
    }
  }
  return refused;
}

/**
 * Enables for the children of `folder` all controllers it has, at once or else one by one, since one
 * that cannot be handed down spoils the whole line. A folder with processes of its own refuses as busy;
 * trying single controllers there would turn it into the root of threaded groups.
 */
function delegate(folder: string, shown: string): OutsideError | undefined {
  const enabled = new Set((readControl(`${folder}/cgroup.subtree_control`) ?? "").split(" "));
  const missing = [...controllersOf(folder)].filter((controller) => !enabled.has(controller));
  if (missing.length === 0) return undefined;
  const together = enable(folder, shown, missing);
  if (together === undefined || together.code === "precondition") return together;
  const refusals = missing.map((controller) => enable(folder, shown, [controller]));
  return refusals.find((refusal) => refusal !== undefined);
}

function enable(
  folder: string,
  shown: string,
  controllers: readonly string[],
): OutsideError | undefined {
  const line = controllers.map((controller) => `+${controller}`).join(" ");
  try {
    writeControl(`${folder}/cgroup.subtree_control`, line);
    return undefined;
  } catch (thrown) {
    return hostError(`write "${line}" to cgroup.subtree_control of cgroup`, shown, thrown);
  }
}

function missingControllers(
  path: string,
  missing: readonly string[],
  refused: OutsideError | undefined,
): OutsideError {
  const why = refused ? `: ${refused.message}` : "";
  return new OutsideError(
    "precondition",
    `create cgroup ${path}: controllers missing there: ${missing.join(", ")}${why}`,
    refused ? { cause: refused } : {},
  );
}

/** By the kernel's own switch, which no fork escapes, where it has one (5.14). */
function killGroup(path: string, folder: string): void {
  if (processesIn([folder]).includes(process.pid)) {
    throw new OutsideError("precondition", `destroy cgroup ${path}: this process itself is in it`);
  }
  try {
    writeControl(`${folder}/cgroup.kill`, "1");
  } catch (thrown) {
    if (!isGone(thrown) && !["ENOTSUP", "EOPNOTSUPP"].includes(errnoOf(thrown))) {
      throw hostError("write cgroup.kill of cgroup", path, thrown);
    }
    killAll(path, [folder]);
  }
}

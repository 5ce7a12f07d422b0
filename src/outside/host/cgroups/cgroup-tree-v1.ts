import { existsSync } from "node:fs";
import type { Clock } from "../../../kit/clock.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { KeptFiles } from "../files/kept-files.ts";
import type { CgroupTree } from "../host.ts";
import { hostError } from "../host-errors.ts";
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
import type { CgroupHierarchy } from "./cgroup-mounts.ts";
import { watchMemoryFiles } from "./memory-notification.ts";

/** Where it says that a group is frozen. */
const FREEZER = { file: "freezer.state", thawed: "THAWED" } as const;

/** Hierarchies, as far as they are mounted, in which a group must be to count as existing. */
const REQUIRED: ReadonlySet<string> = new Set([
  "cpu",
  "cpuacct",
  "cpuset",
  "memory",
  "systemd",
  "pids",
  "hugetlb",
]);

/** Files that every hierarchy has. */
const CORE_FILES: ReadonlySet<string> = new Set(["tasks", "notify_on_release", "release_agent"]);

/** A group of `cpuset` can hold no process until these are set. */
const CPUSET_FILES = ["cpuset.cpus", "cpuset.mems"] as const;

/**
 * Cgroups of version 1: one group is a folder of the same path in every hierarchy. A file's
 * prefix picks its hierarchy; `cgroup.*` and `tasks` are read from the first and written to all.
 */
export function createCgroupTreeV1(
  clock: Clock,
  hierarchies: readonly CgroupHierarchy[],
  hybrid?: string,
): CgroupTree {
  return new CgroupTreeV1(clock, hierarchies, hybrid);
}

class CgroupTreeV1 implements CgroupTree {
  readonly version = 1;
  readonly controllers: ReadonlySet<string>;
  readonly #clock: Clock;
  readonly #hierarchies: readonly CgroupHierarchy[];
  readonly #byController: ReadonlyMap<string, CgroupHierarchy>;
  readonly #hybrid: string | undefined;
  readonly #keptFiles = new KeptFiles((path, file) => this.#filesFor(path, file)[0]);

  constructor(clock: Clock, hierarchies: readonly CgroupHierarchy[], hybrid: string | undefined) {
    this.#clock = clock;
    this.#hierarchies = hierarchies;
    this.#hybrid = hybrid;
    this.#byController = new Map(
      hierarchies.flatMap((hierarchy) =>
        hierarchy.controllers.map((controller) => [controller, hierarchy] as const),
      ),
    );
    const named = (name: string) => name === "systemd";
    this.controllers = new Set([...this.#byController.keys()].filter((name) => !named(name)));
  }

  async exists(path: string): Promise<boolean> {
    return this.#hierarchies
      .filter((hierarchy) => hierarchy.controllers.some((name) => REQUIRED.has(name)))
      .every((hierarchy) => existsSync(folderIn(hierarchy, path)));
  }

  async create(path: string): Promise<void> {
    const parts = groupParts(path);
    for (const hierarchy of this.#hierarchies) createIn(hierarchy, path, parts);
  }

  async read(path: string, file: string): Promise<string | undefined> {
    try {
      for (const filePath of this.#filesFor(path, file)) {
        const value = readControl(filePath);
        if (value !== undefined) return value;
      }
      return undefined;
    } catch (thrown) {
      throw hostError(`read ${file} of cgroup`, path, thrown);
    }
  }

  readNow(path: string, files: readonly string[]): readonly (string | undefined)[] {
    return files.map((file) => this.#keptFiles.read(path, file));
  }

  async write(path: string, file: string, value: string): Promise<void> {
    const targets = this.#filesFor(path, file);
    if (targets.length === 0) {
      throw new OutsideError("notFound", `write ${file} of cgroup ${path}: no such controller`);
    }
    try {
      for (const filePath of targets) writeControl(filePath, value);
    } catch (thrown) {
      throw hostError(`write ${JSON.stringify(value)} to ${file} of cgroup`, path, thrown);
    }
  }

  /** The notifications of version 1 need an eventfd, which Node cannot create. */
  watchMemory(_path: string, onPressure: () => void, signal: AbortSignal): readonly string[] {
    if (this.#hybrid === undefined) return [];
    return watchMemoryFiles({ stalls: this.#hybrid }, onPressure, signal);
  }

  async children(path: string): Promise<readonly string[]> {
    try {
      return [...new Set(this.#foldersOf(path).flatMap(subgroupsOf))].sort();
    } catch (thrown) {
      throw hostError("list children of cgroup", path, thrown);
    }
  }

  async members(path: string): Promise<readonly number[]> {
    const hierarchy = this.#byController.get("devices");
    if (!hierarchy)
      throw new OutsideError("notFound", `list members of cgroup ${path}: no devices controller`);
    try {
      return pidsIn(folderIn(hierarchy, path));
    } catch (thrown) {
      throw hostError("list members of cgroup", path, thrown);
    }
  }

  async processes(path: string): Promise<readonly number[]> {
    try {
      return processesIn(this.#foldersOf(path));
    } catch (thrown) {
      throw hostError("list processes of cgroup", path, thrown);
    }
  }

  async thaw(path: string): Promise<void> {
    const freezer = this.#byController.get("freezer");
    if (freezer) thawFolders(folderIn(freezer, path), FREEZER);
    for (const folder of this.#hybridFolder(path)) thawFolders(folder, FREEZER_V2);
  }

  async destroy(path: string): Promise<void> {
    if (groupParts(path).length === 0) {
      throw new OutsideError("invalid", "destroy cgroup /: the root stays");
    }
    const folders = [...this.#foldersOf(path), ...this.#hybridFolder(path)];
    const freezer = this.#byController.get("freezer");
    const kill = () => {
      killAll(path, folders);
      if (freezer) thawFolders(folderIn(freezer, path), FREEZER);
    };
    await destroyGroups({ clock: this.#clock, path, folders, kill });
  }

  #hybridFolder(path: string): readonly string[] {
    return this.#hybrid === undefined ? [] : [[this.#hybrid, ...groupParts(path)].join("/")];
  }

  #foldersOf(path: string): readonly string[] {
    return this.#hierarchies.map((hierarchy) => folderIn(hierarchy, path));
  }

  #filesFor(path: string, file: string): readonly string[] {
    checkFileName(path, file);
    const hierarchy = this.#byController.get(file.slice(0, file.indexOf(".")));
    if (hierarchy) return [`${folderIn(hierarchy, path)}/${file}`];
    return isCoreFile(file) ? this.#foldersOf(path).map((folder) => `${folder}/${file}`) : [];
  }
}

function isCoreFile(file: string): boolean {
  return file.startsWith("cgroup.") || CORE_FILES.has(file);
}

function folderIn(hierarchy: CgroupHierarchy, path: string): string {
  return [hierarchy.mountPoint, ...groupParts(path)].join("/");
}

/** Makes the group; those above it, which are mostly there, only where it cannot be made or used without. */
function createIn(hierarchy: CgroupHierarchy, path: string, parts: readonly string[]): void {
  if (parts.length === 0) return;
  const above = parts.slice(0, -1);
  const parent = [hierarchy.mountPoint, ...above].join("/");
  const folder = `${parent}/${parts.at(-1)}`;
  const make = (canBeMissing: boolean): boolean => {
    try {
      makeGroup(folder);
      return !hierarchy.controllers.includes("cpuset") || inheritCpuset(parent, folder);
    } catch (thrown) {
      if (canBeMissing && isGone(thrown)) return false;
      throw hostError(`create ${folder} of cgroup`, path, thrown);
    }
  };
  const hasParents = above.length > 0;
  if (make(hasParents) || !hasParents) return;
  createIn(hierarchy, path, above);
  make(false);
}

/** Gives the group what its parent has; false when that has nothing either. */
function inheritCpuset(parent: string, folder: string): boolean {
  let isComplete = true;
  for (const file of CPUSET_FILES) {
    if (readControl(`${folder}/${file}`)?.trim() !== "") continue;
    const inherited = readControl(`${parent}/${file}`)?.trim();
    if (inherited) writeControl(`${folder}/${file}`, inherited);
    else isComplete = false;
  }
  return isComplete;
}

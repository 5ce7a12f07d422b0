import type { Clock } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import {
  checkFileName,
  destroyGroups,
  groupParts,
  isGone,
  killAll,
  makeGroup,
  processesIn,
  readControl,
  subgroupsOf,
  writeControl,
} from "./cgroup-folders.ts";
import type { CgroupTree } from "./host.ts";
import { errnoOf, hostError } from "./host-errors.ts";

/** Controllers that, as far as the machine has them, every group of ours needs. */
const REQUIRED = ["cpu", "cpuset", "memory", "hugetlb", "pids"] as const;

/** Control groups of version 2, from the unified hierarchy mounted at `mountPoint`. */
export function createCgroupTreeV2(clock: Clock, mountPoint: string): CgroupTree {
  const controllers = controllersOf(mountPoint);
  const required = REQUIRED.filter((controller) => controllers.has(controller));
  const folderOf = (path: string) => [mountPoint, ...groupParts(path)].join("/");
  const fileOf = (path: string, file: string) => {
    checkFileName(path, file);
    return `${folderOf(path)}/${file}`;
  };
  const missingAt = (folder: string): readonly string[] => {
    const usable = controllersOf(folder);
    return required.filter((controller) => !usable.has(controller));
  };
  const named = async <T>(action: string, path: string, work: () => T): Promise<T> => {
    try {
      return work();
    } catch (thrown) {
      throw hostError(action, path, thrown);
    }
  };

  return {
    version: 2,
    controllers,
    exists: (path) =>
      named("look at cgroup", path, () => {
        const text = readControl(`${folderOf(path)}/cgroup.controllers`);
        return text !== undefined && missingAt(folderOf(path)).length === 0;
      }),
    create: (path) =>
      named("create cgroup", path, () => {
        const refused = createLevels(mountPoint, path);
        const missing = missingAt(folderOf(path));
        if (missing.length > 0) throw lacksControllers(path, missing, refused);
      }),
    read: (path, file) =>
      named(`read ${file} of cgroup`, path, () => readControl(fileOf(path, file))),
    write: (path, file, value) =>
      named(`write ${JSON.stringify(value)} to ${file} of cgroup`, path, () =>
        writeControl(fileOf(path, file), value),
      ),
    children: (path) => named("list children of cgroup", path, () => subgroupsOf(folderOf(path))),
    processes: (path) =>
      named("list processes of cgroup", path, () => processesIn([folderOf(path)])),
    destroy: async (path) => {
      if (groupParts(path).length === 0) {
        throw new OutsideError("invalid", "destroy cgroup /: the root stays");
      }
      const folder = folderOf(path);
      const kill = () => killGroup(path, folder);
      await destroyGroups({ clock, path, folders: [folder], kill });
    },
  };
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

/** Enables for the children of `folder` all controllers it has, at once or else one by one. */
function delegate(folder: string, shown: string): OutsideError | undefined {
  const enabled = new Set((readControl(`${folder}/cgroup.subtree_control`) ?? "").split(" "));
  const wanted = [...controllersOf(folder)].filter((controller) => !enabled.has(controller));
  if (wanted.length === 0) return undefined;
  const control = `${folder}/cgroup.subtree_control`;
  try {
    writeControl(control, wanted.map((controller) => `+${controller}`).join(" "));
    return undefined;
  } catch {
    // One controller that cannot be handed down spoils the whole line.
  }
  let refused: OutsideError | undefined;
  for (const controller of wanted) {
    try {
      writeControl(control, `+${controller}`);
    } catch (thrown) {
      refused ??= hostError(
        `write "+${controller}" to cgroup.subtree_control of cgroup`,
        shown,
        thrown,
      );
    }
  }
  return refused;
}

function lacksControllers(
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

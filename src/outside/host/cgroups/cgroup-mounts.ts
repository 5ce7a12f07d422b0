// pure
import type { MountEntry } from "../mounts/parse-mountinfo.ts";

/** One v1 hierarchy; several controllers may share it (`cpu,cpuacct`). */
export interface CgroupHierarchy {
  readonly mountPoint: string;
  /** Kernel names; the named hierarchy of systemd is `systemd`. */
  readonly controllers: readonly string[];
}

/** Mount points of the cgroups in this mount namespace. */
export type CgroupMounts =
  | {
      readonly version: 1;
      readonly hierarchies: readonly CgroupHierarchy[];
      /** Mount point of the unified hierarchy beside them: runtimes make groups there that must go again. */
      readonly hybrid?: string;
    }
  | { readonly version: 2; readonly mountPoint: string };

/** The usual place; what is mounted here or beneath goes before any other mount. */
const USUAL_MOUNT = "/sys/fs/cgroup";

const V1_CONTROLLERS: ReadonlySet<string> = new Set([
  "cpu",
  "cpuacct",
  "cpuset",
  "memory",
  "pids",
  "hugetlb",
  "devices",
  "freezer",
  "blkio",
  "net_cls",
  "net_prio",
  "perf_event",
  "rdma",
  "misc",
]);

function v1Controllers(entry: MountEntry): readonly string[] {
  const known = entry.superOptions.filter((option) => V1_CONTROLLERS.has(option));
  return entry.superOptions.includes("name=systemd") ? [...known, "systemd"] : known;
}

function isUsual(entry: MountEntry): boolean {
  return entry.mountPoint === USUAL_MOUNT || entry.mountPoint.startsWith(`${USUAL_MOUNT}/`);
}

/** The usual place first, then the shortest path (deeper ones are views of a part), then the latest mount. */
function byPreference(entries: readonly MountEntry[]): readonly MountEntry[] {
  return entries
    .map((entry, index) => ({ entry, index }))
    .sort(
      (a, b) =>
        Number(isUsual(b.entry)) - Number(isUsual(a.entry)) ||
        a.entry.mountPoint.length - b.entry.mountPoint.length ||
        b.index - a.index,
    )
    .map(({ entry }) => entry);
}

/**
 * Version and places of the cgroups, from the mounts of a process: v2 when the unified hierarchy
 * takes the usual place or there is nothing else, v1 when `cpu` and `memory` have hierarchies (also the
 * hybrid form, whose extra unified mount carries no controller that matters). Group paths count from the
 * mount points, so a mount that shows only a part of the hierarchy (container, cgroup namespace) is
 * taken as its whole. `undefined` when no usable mount is there.
 */
export function findCgroupMounts(mounts: readonly MountEntry[]): CgroupMounts | undefined {
  const unified = byPreference(mounts.filter((entry) => entry.fsType === "cgroup2"));
  const usual = unified.find((entry) => entry.mountPoint === USUAL_MOUNT);
  if (usual) return { version: 2, mountPoint: usual.mountPoint };
  const hierarchies = findHierarchies(mounts);
  const controllers = new Set(hierarchies.flatMap((hierarchy) => hierarchy.controllers));
  const [first] = unified;
  if (controllers.has("cpu") && controllers.has("memory")) {
    return { version: 1, hierarchies, ...(first ? { hybrid: first.mountPoint } : {}) };
  }
  return first ? { version: 2, mountPoint: first.mountPoint } : undefined;
}

function findHierarchies(mounts: readonly MountEntry[]): readonly CgroupHierarchy[] {
  const seen = new Set<string>();
  const hierarchies: CgroupHierarchy[] = [];
  for (const entry of byPreference(mounts.filter((mount) => mount.fsType === "cgroup"))) {
    const controllers = v1Controllers(entry).filter((controller) => !seen.has(controller));
    if (controllers.length === 0) continue;
    for (const controller of controllers) seen.add(controller);
    hierarchies.push({ mountPoint: entry.mountPoint, controllers });
  }
  return hierarchies;
}

// pure

/**
 * Path of a process' cgroup for a controller of cgroup v1 (`cpu`, `memory`), else that of cgroup v2, out of
 * `/proc/<pid>/cgroup` (cgroups(7)); `undefined` where there is neither.
 */
export function ownCgroup(
  text: string | undefined,
  controller: "cpu" | "memory",
): string | undefined {
  let unified: string | undefined;
  for (const line of (text ?? "").split("\n")) {
    const [, controllers, ...rest] = line.split(":");
    const path = rest.join(":");
    if (controllers?.split(",").includes(controller)) return path;
    if (controllers === "") unified = path;
  }
  return unified;
}

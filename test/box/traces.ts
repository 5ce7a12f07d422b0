/** What a box has on the machine, for proving that nothing of it is left. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { Box } from "./box.ts";
import { cgroupRoots } from "./prerequisites.ts";

/** The names by which a box could be found on the machine. */
export interface BoxMarks {
  readonly id: string;
  readonly folder: string;
  /** Its namespaces, like `net:[4026532345]`. */
  readonly namespaces: readonly string[];
}

const NAMESPACES = ["mnt", "pid", "net", "uts", "ipc", "cgroup"];

/** Reads the marks of a running box. */
export function marksOf(box: Box): BoxMarks {
  const namespaces = NAMESPACES.map((name) => readlinkSync(`/proc/${box.initPid}/ns/${name}`));
  return { id: box.id, folder: box.folder, namespaces };
}

/** Every process, mount, cgroup, network interface, file and folder of the machine that belongs to the box. */
export function tracesOf(marks: BoxMarks): string[] {
  return [
    ...processes(marks),
    ...mounts(marks),
    ...cgroups(marks),
    ...(existsSync(marks.folder) ? [`folder ${marks.folder}`] : []),
    ...readdirSync("/sys/class/net")
      .filter((name) => /^(cni0|veth|eth0-wire)/.test(name))
      .map((name) => `network interface ${name}`),
    ...nodeFolders()
      .filter((path) => !BEFORE.includes(path))
      .map((path) => `folder ${path}`),
  ];
}

function nodeFolders(): string[] {
  const folders = ["/var/lib/kubelet", "/etc/cni/net.d", "/var/log/pods", "/run/containerd"];
  return folders.filter((path) => existsSync(path));
}

/** What a machine that is a node itself has anyway. */
const BEFORE = nodeFolders();

function processes({ id, namespaces }: BoxMarks): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const inside = NAMESPACES.some((name) =>
          namespaces.includes(readlinkSync(`/proc/${pid}/ns/${name}`)),
        );
        return inside || readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(id);
      } catch {
        return false;
      }
    })
    .map((pid) => `process ${pid}`);
}

function mounts({ id }: BoxMarks): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.includes(id))
    .map((line) => `mount ${line}`);
}

function cgroups({ id }: BoxMarks): string[] {
  return cgroupRoots().paths.flatMap((root) =>
    readdirSync(root)
      .filter((name) => name.includes(id))
      .map((name) => `cgroup ${join(root, name)}`),
  );
}

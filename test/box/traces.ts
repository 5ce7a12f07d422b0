/** What a box has on the machine, for proving that nothing of it is left. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { Box } from "./box.ts";
import { cgroupRoots } from "./prerequisites.ts";

/** The names by which a box could be found on the machine. */
export interface BoxMarks {
  readonly id: string;
  readonly folder: string;
  /** Its first process: number, and start time in ticks since boot. */
  readonly init: { readonly pid: number; readonly started: string };
  /** Its namespaces, like `net:[4026532345]`. */
  readonly namespaces: readonly string[];
}

const NAMESPACES = ["mnt", "pid", "net", "uts", "ipc", "cgroup"];

/** Reads the marks of a running box. */
export function marksOf(box: Box): BoxMarks {
  const namespaces = NAMESPACES.map((name) => readlinkSync(`/proc/${box.initPid}/ns/${name}`));
  const init = { pid: box.initPid, started: startOf(box.initPid) };
  return { id: box.id, folder: box.folder, init, namespaces };
}

/** Every process, mount, cgroup, network interface, file and folder of the machine that belongs to the box. */
export function tracesOf(marks: BoxMarks): string[] {
  return [
    ...processes(marks),
    ...mounts(marks),
    ...cgroups(marks),
    ...(existsSync(marks.folder) ? [`folder ${marks.folder}`] : []),
    ...readdirSync("/sys/class/net")
      .filter((name) => /^(cni0|veth|eth0-wire)/.test(name) && !INTERFACES_BEFORE.includes(name))
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
/** Of a node, of another program that runs containers. */
const INTERFACES_BEFORE = readdirSync("/sys/class/net");

/** Empty when there is no such process, or it only waits to be taken notice of. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, ...more] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state === "Z" ? "" : (more[18] ?? "");
  } catch {
    return "";
  }
}

/** Whether it is a process of a sweep, which may be another run's: it names the boxes that it removes. */
function isOfSweep(pid: string): boolean {
  const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
  if (command.includes("/outer.sh\0sweep\0")) return true;
  const [, parent = "0"] =
    /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(parent) > 1 && isOfSweep(parent);
}

/**
 * Those of its cgroups, those whose command line has its id, and, as long as its first process is there, those in its
 * namespaces. After that the kernel gives the numbers of its namespaces to others: to boxes of another run.
 */
function processes({ id, namespaces, init }: BoxMarks): string[] {
  const isOpen = startOf(init.pid) === init.started;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, "utf8");
        // Who has ended and only waits to be taken notice of has no command line any more.
        if (read("cmdline") === "") return false;
        const inside =
          isOpen &&
          NAMESPACES.some((name) => namespaces.includes(readlinkSync(`/proc/${pid}/ns/${name}`)));
        const names = read("cgroup").includes(id) || read("cmdline").includes(id);
        return inside || (names && !isOfSweep(pid));
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

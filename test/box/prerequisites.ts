/** What the machine must offer before a box can be made. */
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";

const PROGRAMS = ["containerd", "ctr", "runc", "unshare", "nsenter", "ip", "iptables"];
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Bits of the capability sets, by kernel name. */
const CAPABILITY_BIT = { CAP_NET_ADMIN: 12n, CAP_SYS_ADMIN: 21n, CAP_SYS_RESOURCE: 24n } as const;

/** Why no box can be made here, in words for a skipped test; undefined when one can. */
export function boxObstacle(): string | undefined {
  if (process.platform !== "linux") return "needs Linux namespaces";
  if (process.getuid?.() !== 0) return "needs root (namespaces, mounts, cgroups)";
  for (const name of ["CAP_SYS_ADMIN", "CAP_NET_ADMIN"] as const)
    if (!hasCapability(name)) return `needs ${name}`;
  const missing = PROGRAMS.filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) return `needs ${missing.join(", ")} on the PATH`;
  if (cniPlugins() === undefined) return "needs CNI plugins in /usr/lib/cni or /opt/cni/bin";
  if (cgroupRoots().paths.length === 0) return "needs cgroups mounted below /sys/fs/cgroup";
  return undefined;
}

/** Whether this process holds the capability effectively. */
export function hasCapability(name: keyof typeof CAPABILITY_BIT): boolean {
  const line = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"));
  return ((BigInt(`0x${line?.[1] ?? "0"}`) >> CAPABILITY_BIT[name]) & 1n) === 1n;
}

/** Absolute path of a program in the places where a node keeps them; undefined when absent. */
export function findProgram(name: string): string | undefined {
  return PATH.split(delimiter)
    .map((dir) => join(dir, name))
    .find((path) => existsSync(path));
}

/** The folder with the CNI plugins `bridge`, `host-local`, `portmap` and `loopback`. */
export function cniPlugins(): string | undefined {
  return ["/usr/lib/cni", "/opt/cni/bin"].find((dir) =>
    ["bridge", "host-local", "portmap", "loopback"].every((name) => existsSync(join(dir, name))),
  );
}

/** The mounted cgroup hierarchies. `version` is 2 only where no controller is left to version 1. */
export function cgroupRoots(): { readonly version: 1 | 2; readonly paths: readonly string[] } {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .flatMap((line) => {
      const [before, after] = line.split(" - ");
      const [type, , options] = after?.split(" ") ?? [];
      const path = before?.split(" ")[4];
      if (!path?.startsWith("/sys/fs/cgroup") || !type?.startsWith("cgroup")) return [];
      return [{ path, type, options: options ?? "" }];
    });
  const withControllers = mounts.some(
    ({ type, options }) => type === "cgroup" && !options.includes("name="),
  );
  return { version: withControllers ? 1 : 2, paths: mounts.map(({ path }) => path) };
}

/** The process outside of a box that makes its namespaces, mounts and cgroups, and removes them at its end. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { IMAGES_FOLDER } from "./images.ts";
import { cgroupRoots } from "./prerequisites.ts";

/** What the namespaces of a box are to have; all of it has a default. */
export interface OuterOptions {
  /** Host name; default `nodelet-` and the box's id. */
  readonly hostname?: string;
  /** The node's own address; default `NODE.address`. Others are for boxes on one wire. */
  readonly address?: string;
  /** Adds an IPv6 address to the node and to pods. Default false. */
  readonly ipv6?: boolean;
  /** Folder with another system, such as `debianRoot` gives, that the box has in place of the machine's; not written to. */
  readonly root?: string;
  /** The first process. Default `sh`, or what NODELET_BOX_INIT says; `systemd` takes cgroups of version 2. */
  readonly init?: "sh" | "systemd";
  /** Size of the disk; default 512. 0 takes the machine's temporary folder, unlimited. */
  readonly storeMib?: number;
  /** Where the disk is: in memory, the default, or an ext4 file system in a sparse file of the machine's temporary folder. */
  readonly storeIn?: "memory" | "file";
}

/** What names of folders and groups of boxes begin with. */
export const PREFIX = "nodelet-box-";
/** Addresses of the node. */
export const NODE = { address: "198.51.100.10", prefix: "24", gateway: "198.51.100.1" };
export const NODE_IPV6 = "2001:db8:100::10";
export const SCRIPTS = import.meta.dirname;
const CHECKOUT = join(SCRIPTS, "../..");

/** Removes directories and cgroups of boxes whose processes are gone. */
export async function sweepBoxes(): Promise<void> {
  const child = spawn("sh", [join(SCRIPTS, "outer.sh"), "sweep"], {
    env: outerEnvironment(),
    stdio: ["ignore", "ignore", "inherit"],
  });
  await new Promise((resolve, reject) => {
    child.once("close", resolve);
    child.once("error", reject);
  });
}

/** A process that holds a box, and what it has made. */
export interface StartedOuter {
  readonly id: string;
  readonly folder: string;
  readonly initPid: number;
  readonly process: ChildProcess;
}

/** Starts the process that holds the box; resolves when its first process is ready. */
export async function startOuter(options: OuterOptions): Promise<StartedOuter> {
  const id = randomBytes(4).toString("hex");
  const folder = join(tmpdir(), `${PREFIX}${id}`);
  mkdirSync(folder, { mode: 0o755 });
  const log = openSync(join(folder, "box.log"), "a");
  // Stays readable when the folder is gone.
  const logAgain = openSync(join(folder, "box.log"), "r");
  const outer = spawn("sh", [join(SCRIPTS, "outer.sh")], {
    detached: true,
    stdio: ["pipe", "pipe", log],
    env: { ...outerEnvironment(), ...initEnvironment(id, folder, options) },
  });
  outer.stdin?.on("error", () => {});
  try {
    const initPid = await untilReady(outer);
    return { id, folder, initPid, process: outer };
  } catch (cause) {
    outer.stdin?.end();
    throw new Error(`cannot make a box\n${readFileSync(logAgain, "utf8")}`, { cause });
  } finally {
    closeSync(log);
    closeSync(logAgain);
  }
}

/** Resolves with the first process' id when the box is ready; throws with what init.sh says. */
async function untilReady(outer: ChildProcess): Promise<number> {
  let initPid = 0;
  for await (const line of outer.stdout ? createInterface(outer.stdout) : []) {
    const [word, ...rest] = line.split(" ");
    if (word === "pid") initPid = Number(rest[0]);
    if (word === "fail") throw new Error(rest.join(" "));
    if (word === "ready") return initPid;
  }
  throw new Error("its first process ended");
}

function outerEnvironment(): Record<string, string> {
  return {
    PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
    BOX_HOME: tmpdir(),
    BOX_SCRIPTS: SCRIPTS,
    BOX_CGROUPS: cgroupRoots().paths.join(" "),
  };
}

function initEnvironment(
  id: string,
  folder: string,
  options: OuterOptions,
): Record<string, string> {
  return {
    BOX_ID: id,
    BOX_DIR: folder,
    BOX_CHECKOUT: CHECKOUT,
    BOX_HOSTNAME: options.hostname ?? `nodelet-${id}`,
    BOX_STORE_MIB: `${options.storeMib ?? 512}`,
    BOX_STORE_IN: options.storeIn ?? "memory",
    BOX_ADDRESS: options.address ?? NODE.address,
    BOX_PREFIX: NODE.prefix,
    BOX_GATEWAY: NODE.gateway,
    BOX_ADDRESS6: options.ipv6 ? NODE_IPV6 : "",
    BOX_CGROUP_VERSION: `${cgroupRoots().version}`,
    BOX_ROOT: options.root ?? "",
    BOX_IMAGES: IMAGES_FOLDER,
    BOX_INIT: initOf(options),
  };
}

/** The first process of a box. */
export const initOf = ({ init }: OuterOptions): string =>
  init ?? process.env["NODELET_BOX_INIT"] ?? "sh";

/** `cgroup.procs` files by which a process joins the box. */
export function joinPaths(id: string): string[] {
  const { version, paths } = cgroupRoots();
  const leaf = version === 2 ? "system/cgroup.procs" : "cgroup.procs";
  return paths.map((root) => join(root, `${PREFIX}${id}`, leaf));
}

/** Programs of the machine that are called by name. */
import { accessSync, constants, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM_FOLDERS } from "../outside/host/host.ts";

/** The PATH for programs that we start: the user's, which often omits the folders of administration, and the usual folders. */
export function searchPath(env: NodeJS.ProcessEnv = process.env): string {
  const own = (env["PATH"] ?? "").split(":").filter((folder) => folder.startsWith("/"));
  return [...new Set([...own, ...PROGRAM_FOLDERS])].join(":");
}

/** Absolute path of a program; `undefined` when the machine has none of that name. */
export function findProgram(name: string): string | undefined {
  return placesOf(name).find(isExecutable);
}

/** Absolute paths of all programs of that name, in the order in which they are found; links to one file count once. */
export function findPrograms(name: string): readonly string[] {
  const byFile = new Map<string, string>();
  for (const path of placesOf(name).filter(isExecutable)) {
    const file = realpathSync(path);
    if (!byFile.has(file)) byFile.set(file, path);
  }
  return [...byFile.values()];
}

function placesOf(name: string): readonly string[] {
  return searchPath()
    .split(":")
    .map((folder) => join(folder, name));
}

/** Whether this process may run the file. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const CNI_FOLDERS = ["/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"];
/** Plugins without which pods get no network. */
const NEEDED_PLUGINS = ["bridge", "host-local", "loopback", "portmap"];

/** The CNI plugins of the machine. */
export interface CniPlugins {
  readonly folder: string;
  readonly names: ReadonlySet<string>;
}

/** The folder with all plugins that are needed; `undefined` when there is none. */
export function findCniPlugins(): CniPlugins | undefined {
  for (const folder of CNI_FOLDERS) {
    const names = new Set(fileNamesIn(folder));
    if (NEEDED_PLUGINS.every((name) => names.has(name))) return { folder, names };
  }
  return undefined;
}

/** Names in a folder; none where it cannot be read. */
export function fileNamesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

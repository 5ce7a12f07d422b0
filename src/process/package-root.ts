/** Files of the package beside the program, in a checkout, an installation or a single executable. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { getAssetKeys, getRawAsset, isSea } from "node:sea";

/** Folder of the package: the checkout, or where it is installed. Holds `package.json` and `examples`. */
export function packageRoot(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (folder === dirname(folder)) return import.meta.dirname;
  }
}

/** A file of the package, e.g. `examples/hello/pod.yaml`. Throws when the package does not contain it. */
export function readPackageFile(path: string): Buffer {
  if (isSea()) return Buffer.from(getRawAsset(path));
  return readFileSync(join(packageRoot(), path));
}

/** Names of the files directly in a folder of the package, sorted. */
export function listPackageFolder(path: string): readonly string[] {
  if (!isSea()) return readdirSync(join(packageRoot(), path)).toSorted();
  const prefix = `${path}/`;
  return getAssetKeys()
    .filter((key) => key.startsWith(prefix) && !key.slice(prefix.length).includes("/"))
    .map((key) => key.slice(prefix.length))
    .toSorted();
}

/** The program as a file that can be started by its path. */
export function programPath(): string {
  return isSea() ? process.execPath : join(packageRoot(), "bin", "nodelet");
}

/**
 * Starts this program once more, with flags for Node. A single executable takes such flags in an option of its own
 * (nodejs.org/api/single-executable-applications.html, `execArgvExtension`).
 */
export function selfCommand(
  nodeFlags: readonly string[],
  args: readonly string[],
): readonly [string, ...string[]] {
  if (isSea()) return [process.execPath, ...args];
  return [process.execPath, ...nodeFlags, process.argv[1] ?? "", ...args];
}

/** Files of Debian packages, with all that they depend on, as the content of an image. */
import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { TarEntry } from "../../../src/cli/local-images/tar.ts";
import { fetchPackages, suiteEnvironment } from "../../debian-suite.mjs";

const SUITE = "bookworm";
/** Needed only to install packages, which an image never does. */
const INSTALLERS =
  /^(?:perl|debconf|dpkg|adduser|passwd|login|base-|init-system-helpers|install-info|sysvinit|lsb-base|sensible-utils|tar$|mawk)/;
/** Nobody reads these in an image. */
const LEFT_OUT =
  /^usr\/(?:share\/(?:doc|man|locale|info|lintian|bash-completion|bug|zoneinfo)|include)(?:\/|$)/;

/** All files of the packages and of what they need, by path. */
export function debianFiles(
  packages: readonly string[],
  say: (text: string) => void,
): Map<string, TarEntry> {
  const files = new Map<string, TarEntry>();
  for (const folder of fetchPackages(SUITE, closureOf(packages, say), { say }))
    addFolder(files, folder, "");
  return files;
}

function closureOf(packages: readonly string[], say: (text: string) => void): string[] {
  // Reads the package lists where there are none yet.
  fetchPackages(SUITE, packages, { say });
  const omitted = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"];
  const output = execFileSync(
    "apt-cache",
    ["depends", "--recurse", ...omitted.map((name) => `--no-${name}`), ...packages],
    { env: suiteEnvironment(SUITE), encoding: "utf8" },
  );
  const names = output.split("\n").filter((line) => /^[a-z0-9][a-z0-9+.-]*$/.test(line));
  const wanted = names.filter((name) => packages.includes(name) || !INSTALLERS.test(name));
  return [...new Set(wanted)].sort();
}

function addFolder(files: Map<string, TarEntry>, root: string, path: string): void {
  for (const name of readdirSync(join(root, path)).sort()) {
    const inside = path === "" ? name : `${path}/${name}`;
    if (LEFT_OUT.test(inside)) continue;
    const facts = lstatSync(join(root, inside));
    const mode = facts.mode & 0o7777;
    if (facts.isDirectory()) {
      files.set(inside, { kind: "directory", path: inside, mode });
      addFolder(files, root, inside);
    } else if (facts.isSymbolicLink())
      files.set(inside, {
        kind: "symlink",
        path: inside,
        target: readlinkSync(join(root, inside)),
      });
    else if (facts.isFile())
      files.set(inside, {
        kind: "file",
        path: inside,
        mode,
        content: readFileSync(join(root, inside)),
      });
  }
}

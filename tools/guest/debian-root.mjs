// A Debian unpacked by debootstrap, from the cache outside the checkout.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { archiveBase, CACHE_DIR } from "../debian-suite.mjs";

const DEBOOTSTRAP = "/usr/sbin/debootstrap";
const SCRIPTS = "/usr/share/debootstrap/scripts";

/** Why there is no such folder here and none can be made; undefined when there is or can. */
export function debianObstacle(suite, packages) {
  if (existsSync(folderOf(suite, packages)) || existsSync(DEBOOTSTRAP)) return undefined;
  return "needs debootstrap";
}

/** Folder with the suite's minimal system and `packages`; 3 minutes the first time, then never written to. */
export function debianRoot(suite, packages) {
  const folder = folderOf(suite, packages);
  if (existsSync(folder)) return folder;
  const partial = `${folder}.${process.pid}`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  // An older debootstrap has no steps under the names of newer suites; those of the unstable one serve them all.
  const steps = existsSync(`${SCRIPTS}/${suite}`) ? [] : [`${SCRIPTS}/sid`];
  const include = `--include=${packages.join(",")}`;
  const argv = ["--variant=minbase", include, suite, partial, archiveBase(), ...steps];
  execFileSync(DEBOOTSTRAP, argv, { stdio: ["ignore", "ignore", "inherit"] });
  for (const left of ["var/cache/apt", "var/lib/apt/lists"])
    rmSync(join(partial, left), { recursive: true, force: true });
  renameSync(partial, folder);
  return folder;
}

function folderOf(suite, packages) {
  const digest = createHash("sha256")
    .update(JSON.stringify([suite, packages]))
    .digest("hex");
  return join(CACHE_DIR, "guest", `root-${digest.slice(0, 16)}`);
}

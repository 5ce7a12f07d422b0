// Node for a processor, as package-lock.json pins it: the one that is installed, else fetched from npm. Both are checked.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CACHE_DIR } from "../debian-suite.mjs";
import { checkNodeBinary } from "../setup/node-sums.mjs";
import { ROOT } from "../setup/root.mjs";

/** The folder with `bin/node` for `x64` or `arm64`. Throws when it is not what the lock file and node-sums.json say. */
export async function nodeFolder(processor) {
  const name = `node-linux-${processor}`;
  const locked = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")).packages[
    `node_modules/${name}`
  ];
  const folder = await findFolder(name, locked);
  checkNodeBinary(join(folder, "bin/node"), locked.version, processor);
  return folder;
}

async function findFolder(name, { version, integrity }) {
  const installed = join(ROOT, "node_modules", name);
  if (existsSync(join(installed, "bin/node"))) return installed;
  const folder = join(CACHE_DIR, `${name}-${version}`);
  if (existsSync(folder)) return folder;
  const fresh = `${folder}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  try {
    const argv = ["pack", "--silent", "--pack-destination", fresh, `${name}@${version}`];
    const archive = execFileSync("npm", argv, { encoding: "utf8" }).trim().split("\n").at(-1);
    check(join(fresh, archive), integrity);
    execFileSync("tar", ["-xzf", archive, "--strip-components=1"], { cwd: fresh });
    rmSync(join(fresh, archive));
    renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return folder;
}

function check(archive, integrity) {
  const [algorithm, expected] = integrity.split("-");
  const digest = createHash(algorithm).update(readFileSync(archive)).digest("base64");
  if (digest !== expected)
    throw new Error(`${archive} has ${algorithm} ${digest}, package-lock.json says ${expected}`);
}

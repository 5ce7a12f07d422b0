// npm packages exactly as package-lock.json says, Node 26 among them.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isReadOnly } from "./lock.mjs";
import { checkNodeBinary } from "./node-sums.mjs";
import { runQuietly, SetupError, seemsOffline, tail } from "./progress.mjs";
import { ROOT } from "./root.mjs";

const MODULES = join(ROOT, "node_modules");
const LOCK = join(ROOT, "package-lock.json");
/** Holds the digest of the lock file that node_modules was made from. */
const STAMP = join(MODULES, ".nodelet-lock");
const OLDEST_NODE = 24;
const QUIET = ["--no-audit", "--no-fund", "--no-progress"];
/** npm by itself would try for a quarter of an hour where there is no network. */
const IMPATIENT = [
  "--fetch-retries=3",
  "--fetch-retry-mintimeout=500",
  "--fetch-retry-maxtimeout=4000",
];
const SHOWN_LINES = 12;

/** Installs when the lock file has changed since the last time. */
export async function npmStep() {
  const lock = readFileSync(LOCK);
  const digest = createHash("sha256").update(lock).digest("hex");
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === digest) return;
  const locked = parseLock(lock.toString());
  if (!installedAsLocked(locked)) await install();
  checkNode(locked);
  try {
    writeFileSync(STAMP, digest);
  } catch (error) {
    if (!isReadOnly(error)) throw error;
  }
}

/** Before it is run for the first time. */
function checkNode({ packages }) {
  const name = `node_modules/node-linux-${process.arch}`;
  const path = join(ROOT, name, "bin", "node");
  if (existsSync(path)) checkNodeBinary(path, packages[name].version, process.arch);
}

/** The Node that npm brought, else the running one when it is new enough. */
export function nodeBinary() {
  const pinned = join(MODULES, `node-linux-${process.arch}`, "bin", "node");
  if (existsSync(pinned)) return pinned;
  if (Number(process.versions.node.split(".")[0]) >= OLDEST_NODE) return process.execPath;
  throw new SetupError(
    `node_modules has no Node for ${process.arch}, and the running Node ${process.versions.node} is too old`,
    `delete node_modules and run the command again, or use Node ${OLDEST_NODE} or newer`,
  );
}

async function install() {
  const why = existsSync(MODULES) ? "package-lock.json changed" : "first time";
  const npm = process.env.npm_execpath?.endsWith(".js")
    ? [process.execPath, process.env.npm_execpath]
    : ["npm"];
  const argv = [...npm, "ci", "--ignore-scripts", "--include=dev", ...QUIET, ...IMPATIENT];
  const { code, output } = await runQuietly(`installing npm packages (${why})`, argv, {
    cwd: ROOT,
  });
  if (code === 0) return;
  throw new SetupError(`npm ci failed:\n${essence(output)}`, remedy(code, output));
}

/** npm puts what matters first and its own usage after it. */
function essence(output) {
  const lines = output.split("\n").filter((line) => /^npm (error|ERR!)/.test(line));
  return tail((lines.length > 0 ? lines.slice(0, SHOWN_LINES) : output.split("\n")).join("\n"));
}

function remedy(code, output) {
  if (code === 127) return "install npm (Debian: apt-get install npm)";
  if (seemsOffline(output))
    return "npm could not reach its registry: check the network or npm's registry setting";
  if (/EACCES|EPERM|EROFS/.test(output))
    return "the checkout belongs to somebody else: run the command as its owner or as root";
  if (/ENOSPC/.test(output)) return "the disk is full";
  if (/EUSAGE|EJSONPARSE/.test(output))
    return "package.json and package-lock.json do not fit: run `npm install --ignore-scripts` and commit both";
  return "see npm's message above";
}

function parseLock(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SetupError(
      `package-lock.json is damaged: ${error.message}`,
      "git checkout package-lock.json",
    );
  }
}

/**
 * Somebody may have run npm by hand: what npm noted in node_modules is compared with the lock file, leaving
 * out what is optional on this machine.
 */
function installedAsLocked(lock) {
  const noted = join(MODULES, ".package-lock.json");
  if (!existsSync(noted)) return false;
  const installed = JSON.parse(readFileSync(noted, "utf8")).packages;
  return Object.entries(lock.packages).every(([path, { version, optional, link }]) => {
    if (path === "" || link) return true;
    const found = installed[path];
    return found ? found.version === version && existsSync(join(ROOT, path)) : optional === true;
  });
}

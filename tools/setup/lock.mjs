// One setup at a time in a checkout: two `npm ci` would tear the packages from under each other.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { say } from "./progress.mjs";

const POLL_MS = 200;

/** Runs `work` while holding the lock file; takes it over when its holder is gone. */
export async function withLock(path, work) {
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    // A checkout that cannot be written to can still be used when there is nothing to do.
    if (isReadOnly(error)) return await work();
    throw error;
  }
  let waiting = false;
  let answer = tryTake(path);
  for (; answer === "held"; answer = tryTake(path)) {
    if (!waiting) say("waiting for another setup in this checkout");
    waiting = true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  try {
    return await work();
  } finally {
    if (answer === "taken") rmSync(path, { force: true });
  }
}

/** `taken`, `held` by another, or `impossible` where the checkout is read-only to us. */
function tryTake(path) {
  try {
    writeFileSync(path, `${process.pid}`, { flag: "wx" });
    return "taken";
  } catch (error) {
    if (isReadOnly(error)) return "impossible";
    if (error.code !== "EEXIST") throw error;
  }
  if (holderIsGone(path)) rmSync(path, { force: true });
  return "held";
}

function holderIsGone(path) {
  try {
    const pid = Number(readFileSync(path, "utf8"));
    if (!(pid > 0)) return false;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

/** Whether an error of the file system says that we may not write. */
export function isReadOnly(error) {
  return error.code === "EROFS" || error.code === "EACCES" || error.code === "EPERM";
}

// One at a time: two `npm ci` in a checkout, or two builds in a cache, would tear files from under each other.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { say } from "./progress.mjs";

const POLL_MS = 200;
/** A lock file without a holder's name after this time was left by a process that was killed while it wrote. */
const NAMELESS_MS = 10_000;

/** Runs `work` while holding the lock file; takes it over when its holder is gone. `other` says who else may hold it. */
export async function withLock(path, work, { other = "another setup in this checkout" } = {}) {
  if (!prepareFolder(path)) return await work();
  const waiting = startWaiting(other);
  let answer = tryTake(path);
  for (; answer === "held"; answer = tryTake(path)) {
    waiting();
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  try {
    return await work();
  } finally {
    if (answer === "taken") release(path);
  }
}

/** The same for `work` that does not wait; blocks the process until the lock is free. */
export function withLockSync(path, work, { other = "another setup in this checkout" } = {}) {
  if (!prepareFolder(path)) return work();
  const waiting = startWaiting(other);
  const cell = new Int32Array(new SharedArrayBuffer(4));
  let answer = tryTake(path);
  for (; answer === "held"; answer = tryTake(path)) {
    waiting();
    Atomics.wait(cell, 0, 0, POLL_MS);
  }
  try {
    return work();
  } finally {
    if (answer === "taken") release(path);
  }
}

/** Whether the folder can be written to; where it cannot, it can still be used when there is nothing to do. */
function prepareFolder(path) {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return true;
  } catch (error) {
    if (isReadOnly(error)) return false;
    throw error;
  }
}

function startWaiting(other) {
  let reported = false;
  return () => {
    if (!reported) say(`waiting for ${other}`);
    reported = true;
  };
}

/** `taken`, `held` by another, or `impossible` where the folder is read-only to us. */
function tryTake(path) {
  try {
    writeFileSync(path, holderName(process.pid), { flag: "wx" });
    return "taken";
  } catch (error) {
    if (isReadOnly(error)) return "impossible";
    if (error.code !== "EEXIST") throw error;
  }
  removeAbandoned(path);
  return "held";
}

function release(path) {
  if (readOrUndefined(path) === holderName(process.pid)) rmSync(path, { force: true });
}

/** Process and the time it was started, because numbers of processes are used again. */
function holderName(pid) {
  const stat = readOrUndefined(`/proc/${pid}/stat`);
  const started = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  return started === undefined ? `${pid}` : `${pid} ${started}`;
}

/** Takes away the lock of a holder that is gone. Moved aside first: another may have taken it over meanwhile. */
function removeAbandoned(path) {
  const holder = readOrUndefined(path);
  if (holder === undefined || !isAbandoned(path, holder)) return;
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
    if (readOrUndefined(aside) === holder) rmSync(aside, { force: true });
    else renameSync(aside, path);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
}

function isAbandoned(path, holder) {
  const [pid, started] = holder.split(" ");
  if (!(Number(pid) > 0)) {
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    return Date.now() - mtimeMs > NAMELESS_MS;
  }
  if (started !== undefined) return holderName(pid) !== holder;
  return readOrUndefined(`/proc/${pid}/stat`) === undefined;
}

function readOrUndefined(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ESRCH") return undefined;
    throw error;
  }
}

/** Whether an error of the file system says that we may not write. */
export function isReadOnly(error) {
  return error.code === "EROFS" || error.code === "EACCES" || error.code === "EPERM";
}

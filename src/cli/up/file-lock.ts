/** Mutual exclusion between commands: a lock on a file, which the kernel releases when its holder ends. */
import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { messageOf } from "../../kit/errors.ts";
import { CliError } from "../../present/cli-error.ts";

/** How long to wait for another command; changes under a lock take milliseconds. */
const WAIT_MS = 10_000;

/**
 * Runs `work` while no other process holds the lock of that file, which is created empty and stays. Node has no
 * flock(2), so the lock is SQLite's. Not reentrant. Throws `CliError` when the lock is not released in time.
 */
export function withFileLock<T>(path: string, work: () => T): T {
  const lock = acquire(path);
  try {
    return work();
  } finally {
    lock.close();
  }
}

function acquire(path: string): DatabaseSync {
  try {
    closeSync(openSync(path, "a", 0o600));
    const lock = new DatabaseSync(path, { timeout: WAIT_MS });
    try {
      lock.exec("BEGIN EXCLUSIVE");
      return lock;
    } catch (error) {
      lock.close();
      throw error;
    }
  } catch (error) {
    throw new CliError(`failed to lock ${path}: ${messageOf(error)}`, {
      cause: error,
      fix: "another nodelet command may hold it: wait until it has finished, then try again",
    });
  }
}

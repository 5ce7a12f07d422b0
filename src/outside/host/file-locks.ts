/**
 * Locks on files that the kernel releases when their holder ends, however it ends. Node has no flock(2), so the lock is
 * SQLite's on an empty database: fcntl(2)'s within the machine, SQLite's own bookkeeping within a process.
 */
import { constants } from "node:fs";
import { open, truncate } from "node:fs/promises";
import { OutsideError } from "../../kit/errors.ts";
import type { FileLocks } from "./host.ts";
import { hostError } from "./host-errors.ts";

const FILE_MODE = 0o600;
/** Codes of SQLite: somebody else has the lock; what is in the file is no database. */
const SQLITE_BUSY = 5;
const SQLITE_NOTADB = 26;

/** The locks of this machine. */
export const fileLocks: FileLocks = {
  pid: process.pid,
  take: async (path) => {
    try {
      return await lock(path, "BEGIN EXCLUSIVE");
    } catch (thrown) {
      if (codeOf(thrown) !== SQLITE_NOTADB) throw failure("lock", path, thrown);
    }
    // Nobody holds it, and nothing is ever written to it: content is damage.
    try {
      await truncate(path);
      return await lock(path, "BEGIN EXCLUSIVE");
    } catch (thrown) {
      throw failure("lock", path, thrown);
    }
  },
  isHeld: async (path) => {
    try {
      const held = await lock(path, "SELECT count(*) FROM sqlite_schema", { readOnly: true });
      held[Symbol.dispose]();
      return false;
    } catch (thrown) {
      const code = codeOf(thrown);
      if (code === SQLITE_BUSY) return true;
      if (code === SQLITE_NOTADB) return false;
      throw failure("find the lock of", path, thrown);
    }
  },
};

async function lock(
  path: string,
  statement: string,
  options: { readonly readOnly?: true } = {},
): Promise<Disposable> {
  if (!options.readOnly) await create(path);
  // Only an agent has locks, not every command.
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(path, { ...options, timeout: 0 });
  try {
    database.exec(`PRAGMA cache_size = 0; ${statement}`);
  } catch (thrown) {
    database.close();
    throw thrown;
  }
  return {
    [Symbol.dispose]: () => {
      if (database.isOpen) database.close();
    },
  };
}

/** Makes the file with its mode; SQLite would make it readable by everybody. Nothing but a regular file is opened. */
async function create(path: string): Promise<void> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
  try {
    if (!(await file.stat()).isFile())
      throw new OutsideError("precondition", `lock ${path}: it is not a regular file`);
  } finally {
    await file.close();
  }
}

function failure(action: string, path: string, thrown: unknown): OutsideError {
  if (codeOf(thrown) === SQLITE_BUSY)
    return new OutsideError("alreadyExists", `${action} ${path}: it is locked`, { cause: thrown });
  if (codeOf(thrown) === undefined) return hostError(action, path, thrown);
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new OutsideError("io", `${action} ${path}: ${why}`, { cause: thrown });
}

/** SQLite's primary result code of an error; `undefined` for one of others. */
function codeOf(thrown: unknown): number | undefined {
  const code = (thrown as { readonly errcode?: unknown } | undefined)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
}

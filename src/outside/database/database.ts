/**
 * An embedded database that survives a crash: rows under collection and key, and a few named settings.
 * Owns: one file with its journal. In: batches of changes. Out: what was kept. Invariants: when `commit`
 * returns, the batch is on the disk as a whole; after a crash there is all of a batch or nothing of it.
 */
import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { messageOf, OutsideError } from "../../kit/errors.ts";

/** One thing that is kept. */
export interface Row {
  readonly collection: string;
  readonly key: string;
  readonly content: string;
}

/** A row that is written, or, without content, removed. */
export interface RowChange {
  readonly collection: string;
  readonly key: string;
  readonly content: string | undefined;
}

/** Rows and settings that change together. */
export interface Batch {
  readonly rows: readonly RowChange[];
  readonly settings?: Readonly<Record<string, string>>;
}

/** An open database; used by one process at a time. */
export interface Database {
  /** All rows, in no order. */
  rows(): Iterable<Row>;
  setting(name: string): string | undefined;
  /** Throws `OutsideError` "io" when it could not be kept; nothing of it is then. */
  commit(batch: Batch): void;
  close(): void;
}

/** Opens a database, or makes it (mode 0600). Throws `OutsideError` "io". */
export type OpenDatabase = (path: string) => Database;

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** How long another process that is just ending may hold the file. */
const BUSY_MS = 5_000;
/** Number of the layout of tables, kept in the file; another one is refused. */
const LAYOUT = 1;

/**
 * Commits wait for the disk (`synchronous=FULL`): what was acknowledged survives a loss of power. The
 * lock on the file is held as long as it is open, so that two agents never write the same one.
 */
const SETTINGS = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA busy_timeout = ${BUSY_MS};
`;
const TABLES = `
  CREATE TABLE IF NOT EXISTS rows (
    collection TEXT NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (collection, key)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`;

/** The database of this machine: SQLite, which Node brings along. */
export const openDatabase: OpenDatabase = (path) => guarded(path, () => new SqliteDatabase(path));

class SqliteDatabase implements Database {
  readonly #path: string;
  readonly #file: DatabaseSync;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;
  readonly #set: StatementSync;
  readonly #read: StatementSync;

  constructor(path: string) {
    this.#path = path;
    mkdirSync(dirname(path), { recursive: true, mode: FOLDER_MODE });
    // Made by us, so that it is never, not even for a moment, for others to read.
    closeSync(openSync(path, "a", FILE_MODE));
    chmodSync(path, FILE_MODE);
    this.#file = new DatabaseSync(path);
    try {
      this.#file.exec(SETTINGS);
      this.#checkLayout();
      this.#file.exec(TABLES);
      this.#put = this.#file.prepare(
        "INSERT INTO rows VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET content = excluded.content",
      );
      this.#remove = this.#file.prepare("DELETE FROM rows WHERE collection = ? AND key = ?");
      this.#set = this.#file.prepare(
        "INSERT INTO settings VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
      );
      this.#read = this.#file.prepare("SELECT value FROM settings WHERE name = ?");
    } catch (error) {
      this.#file.close();
      throw error;
    }
  }

  *rows(): Iterable<Row> {
    const all = this.#file.prepare("SELECT collection, key, content FROM rows");
    for (const row of all.iterate()) {
      yield {
        collection: String(row["collection"]),
        key: String(row["key"]),
        content: String(row["content"]),
      };
    }
  }

  setting(name: string): string | undefined {
    const value = this.#read.get(name)?.["value"];
    return typeof value === "string" ? value : undefined;
  }

  commit(batch: Batch): void {
    guarded(this.#path, () => {
      this.#file.exec("BEGIN IMMEDIATE");
      try {
        this.#write(batch);
        this.#file.exec("COMMIT");
      } catch (error) {
        if (this.#file.isTransaction) this.#file.exec("ROLLBACK");
        throw error;
      }
    });
  }

  close(): void {
    this.#file.close();
  }

  #write({ rows, settings = {} }: Batch): void {
    for (const { collection, key, content } of rows) {
      if (content === undefined) this.#remove.run(collection, key);
      else this.#put.run(collection, key, content);
    }
    for (const [name, value] of Object.entries(settings)) this.#set.run(name, value);
  }

  #checkLayout(): void {
    const found = Number(this.#file.prepare("PRAGMA user_version").get()?.["user_version"] ?? 0);
    if (found > LAYOUT) throw new Error(`it has layout ${found}, this program knows ${LAYOUT}`);
    if (found === 0) this.#file.exec(`PRAGMA user_version = ${LAYOUT}`);
  }
}

function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new OutsideError("io", `database ${path}: ${messageOf(error)}`, { cause: error });
  }
}

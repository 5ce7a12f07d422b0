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
export interface StoredRow {
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

/** A row that cannot be used, and why. */
export interface BrokenRow extends StoredRow {
  readonly why: string;
}

/** An open database; used by one process at a time. */
export interface Database {
  /** All rows, in no order. */
  rows(): Iterable<StoredRow>;
  setting(name: string): string | undefined;
  /** Moves rows into a table of their own, for inspection. Throws as `commit`. */
  setAside(rows: readonly BrokenRow[]): void;
  /** The rows that were set aside and not rewritten since, oldest first. */
  broken(): readonly BrokenRow[];
  /** Throws `OutsideError` "io" when it could not be kept; nothing of it is then. */
  commit(batch: Batch): void;
  close(): void;
}

/**
 * Opens a database, or makes it (mode 0600). Throws `OutsideError` "io" when it cannot be used: it is damaged, or of
 * a newer layout.
 */
export type OpenDatabase = (path: string) => Database;

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** How long another process that is just ending may hold the file. */
const BUSY_MS = 5_000;
/** Number of the layout of tables, kept in the file; a newer one is refused. */
const LAYOUT = 1;
/** Rows that are kept after they were set aside; the oldest go first. */
const MAX_BROKEN_ROWS = 1_000;

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
  CREATE TABLE IF NOT EXISTS broken_rows (
    id INTEGER PRIMARY KEY, collection TEXT NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL,
    why TEXT NOT NULL
  );
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
      this.#checkPages();
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

  *rows(): Iterable<StoredRow> {
    const all = this.#file.prepare("SELECT collection, key, content FROM rows");
    for (const row of all.iterate()) yield rowOf(row);
  }

  setting(name: string): string | undefined {
    const value = this.#read.get(name)?.["value"];
    return typeof value === "string" ? value : undefined;
  }

  commit(batch: Batch): void {
    this.#transaction(() => this.#write(batch));
  }

  setAside(rows: readonly BrokenRow[]): void {
    if (rows.length === 0) return;
    this.#transaction(() => {
      const keep = this.#file.prepare(
        "INSERT INTO broken_rows (collection, key, content, why) VALUES (?, ?, ?, ?)",
      );
      for (const { collection, key, content, why } of rows) {
        keep.run(collection, key, content, why);
        this.#remove.run(collection, key);
      }
      this.#file.exec(
        `DELETE FROM broken_rows WHERE id <= (SELECT max(id) FROM broken_rows) - ${MAX_BROKEN_ROWS}`,
      );
    });
  }

  broken(): readonly BrokenRow[] {
    const all = this.#file.prepare(
      `SELECT collection, key, content, why FROM broken_rows AS b WHERE NOT EXISTS (
        SELECT 1 FROM rows WHERE rows.collection = b.collection AND rows.key = b.key
      ) ORDER BY id`,
    );
    return all.all().map((row) => ({ ...rowOf(row), why: String(row["why"]) }));
  }

  #transaction(work: () => void): void {
    guarded(this.#path, () => {
      this.#file.exec("BEGIN IMMEDIATE");
      try {
        work();
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

  /** Damage is to be found now, and not by the one request that meets it. */
  #checkPages(): void {
    const found = Object.values(this.#file.prepare("PRAGMA quick_check(1)").get() ?? {})[0];
    if (found !== "ok") throw new Error(`it is damaged: ${String(found)}`);
  }

  #checkLayout(): void {
    const found = Number(this.#file.prepare("PRAGMA user_version").get()?.["user_version"] ?? 0);
    if (found > LAYOUT) {
      throw new Error(
        `it has layout ${found}, this program knows ${LAYOUT}: run the newer nodelet that wrote it, or move the file away`,
      );
    }
    if (found === 0) this.#file.exec(`PRAGMA user_version = ${LAYOUT}`);
  }
}

function rowOf(row: Readonly<Record<string, unknown>>): StoredRow {
  return {
    collection: String(row["collection"]),
    key: String(row["key"]),
    content: String(row["content"]),
  };
}

function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new OutsideError("io", `database ${path}: ${messageOf(error)}`, { cause: error });
  }
}

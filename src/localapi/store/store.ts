/**
 * The objects of the API: in memory to be read, in the database to survive. Owns: versions, and the window
 * of changes that watches can begin in. Invariants: a change is not visible before it is on the disk; every
 * change has a version of its own, and versions never go back, not even over a crash.
 */

import { Cell, type Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import { invariant, messageOf } from "../../kit/errors.ts";
import type { Log } from "../../kit/log.ts";
import type { BrokenRow, Database, RowChange, StoredRow } from "../../outside/database/database.ts";
import { type ApiObject, keyOf, parseApiObject, type StoredObject } from "../api-object.ts";

/** One change: what there was, and what there is now. At least one of the two is there. */
export interface Change {
  readonly version: number;
  readonly collection: string;
  readonly key: string;
  readonly before: StoredObject | undefined;
  /** Of an object that is gone, `undefined`; its last state is in `last`. */
  readonly now: StoredObject | undefined;
  /** The object as the change shows it, with the version of the change. */
  readonly last: StoredObject;
}

interface StoreDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/** How much of the past is remembered. */
export interface StoreOptions {
  readonly maxChanges: number;
  /** Of JSON, roughly. */
  readonly maxBytes: number;
}

/** Some minutes of an ordinary node, and never more memory than this. */
export const STORE_OPTIONS: StoreOptions = { maxChanges: 1_000, maxBytes: 8 * 1024 * 1024 };

const VERSION = "version";
/** More changes than are ever made between two commits of the version. */
const VERSION_MARGIN = 100_000;

interface Waiting {
  readonly changes: { readonly change: Change; readonly row: RowChange }[];
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** See the head of this file. */
export class ObjectStore {
  readonly #deps: StoreDeps;
  readonly #options: StoreOptions;
  readonly #collections = new Map<string, Map<string, StoredObject>>();
  readonly #sorted = new Map<string, readonly string[]>();
  #history: { readonly change: Change; readonly bytes: number }[] = [];
  #historyBytes = 0;
  readonly #committed: Cell<number>;
  #staged: number;
  #forgotten: number;
  #waiting: Waiting | undefined;

  /** Reads what the database has; rows that are no objects are set aside. Throws as `Database`. */
  constructor(options: StoreOptions, deps: StoreDeps) {
    this.#deps = deps;
    this.#options = options;
    const { database } = deps;
    const stored = versionOf(database.setting(VERSION) ?? "1");
    let version = stored ?? 1;
    const broken: BrokenRow[] = [];
    const unversioned: { readonly collection: string; readonly object: StoredObject }[] = [];
    for (const row of database.rows()) {
      const read = objectOf(row);
      if (typeof read === "string") {
        broken.push({ ...row, why: read });
        continue;
      }
      this.#collection(row.collection).set(row.key, read);
      const own = versionOf(read.metadata.resourceVersion);
      if (own === undefined) unversioned.push({ collection: row.collection, object: read });
      else version = Math.max(version, own);
    }
    // Versions given out may have been higher than any that is still to be seen.
    if (stored === undefined) version += VERSION_MARGIN;
    this.#staged = version;
    this.#committed = new Cell(version);
    this.#forgotten = version;
    database.setAside(broken);
    for (const { collection, key, why } of broken)
      deps.log.error("moved an invalid object of the database aside", {
        collection,
        key,
        why,
      });
    for (const { collection, object } of unversioned) this.put(collection, object);
  }

  /** Rows that were set aside, now or before, and whose objects were not rewritten. */
  get broken(): readonly BrokenRow[] {
    return this.#deps.database.broken();
  }

  /** Of the last change that is on the disk. */
  get version(): number {
    return this.#committed.get();
  }

  /** The same, with a notification of every change. */
  get versions(): Reading<number> {
    return this.#committed;
  }

  /** Changes up to this version are compacted: no watch can begin before it. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** The object as it is, changes that are just being written included. */
  get(collection: string, key: string): StoredObject | undefined {
    return this.#collections.get(collection)?.get(key);
  }

  /** How many objects a collection has. */
  count(collection: string): number {
    return this.#collections.get(collection)?.size ?? 0;
  }

  /** All objects of a collection in the order of their keys. */
  list(collection: string): readonly StoredObject[] {
    const objects = this.#collection(collection);
    let keys = this.#sorted.get(collection);
    if (!keys) {
      keys = [...objects.keys()].toSorted(byBytes);
      this.#sorted.set(collection, keys);
    }
    return keys.flatMap((key) => objects.get(key) ?? []);
  }

  /** The objects as they were at a version; undefined when that is forgotten. */
  listAt(collection: string, version: number): readonly StoredObject[] | undefined {
    if (version >= this.#staged) return this.list(collection);
    if (version < this.#forgotten) return undefined;
    const objects = new Map(this.list(collection).map((each) => [keyOf(each.metadata), each]));
    const staged = (this.#waiting?.changes ?? []).map(({ change }) => change);
    const past = [...this.#history.map(({ change }) => change), ...staged];
    for (const change of past.toReversed()) {
      if (change.version <= version) break;
      if (change.collection !== collection) continue;
      if (change.before) objects.set(change.key, change.before);
      else objects.delete(change.key);
    }
    return [...objects.entries()].toSorted(([a], [b]) => byBytes(a, b)).map(([, each]) => each);
  }

  /** Changes after a version; undefined when some of them are forgotten. */
  since(version: number): readonly Change[] | undefined {
    if (version < this.#forgotten) return undefined;
    const from = this.#history.findIndex(({ change }) => change.version > version);
    return from < 0 ? [] : this.#history.slice(from).map(({ change }) => change);
  }

  /** Writes an object under a new version, and gives it as it is kept. Await `settled` before replying. */
  put(collection: string, object: ApiObject): StoredObject {
    const version = this.#nextVersion();
    const kept = stamped(object, version);
    this.#stage({ version, collection, key: keyOf(object.metadata), now: kept, last: kept });
    return kept;
  }

  /** Removes an object; gives its last state. Await `settled` before replying. */
  remove(collection: string, object: ApiObject): StoredObject {
    const version = this.#nextVersion();
    const last = stamped(object, version);
    this.#stage({ version, collection, key: keyOf(object.metadata), now: undefined, last });
    return last;
  }

  /** Resolves when all changes are on the disk; rejects when they could not be written and never were. */
  async settled(): Promise<void> {
    await this.#waiting?.done;
  }

  #nextVersion(): number {
    this.#staged += 1;
    return this.#staged;
  }

  #stage(given: Omit<Change, "before">): void {
    const { version, collection, key, now } = given;
    const objects = this.#collection(collection);
    const before = objects.get(key);
    const held = versionOf(before?.metadata.resourceVersion) ?? 0;
    invariant(version > held, `version ${version} of ${key} does not follow ${held}`);
    if (now) objects.set(key, now);
    else objects.delete(key);
    if ((before === undefined) !== (now === undefined) || !now) this.#sorted.delete(collection);
    const content = now && JSON.stringify(now);
    this.#pending().changes.push({
      change: { ...given, before },
      row: { collection, key, content },
    });
  }

  /** Changes of one turn of the event loop go to the disk together. */
  #pending(): Waiting {
    if (this.#waiting) return this.#waiting;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Callers that do not await it are not affected.
    promise.catch(() => {});
    this.#waiting = { changes: [], done: promise, resolve, reject };
    this.#deps.clock.alarm(0, () => this.flush());
    return this.#waiting;
  }

  /** Writes what waits to be written. */
  flush(): void {
    const waiting = this.#waiting;
    if (!waiting) return;
    this.#waiting = undefined;
    const { changes } = waiting;
    let version = this.version;
    for (const { change } of changes) {
      invariant(change.version > version, `change ${change.version} does not follow ${version}`);
      version = change.version;
    }
    try {
      this.#deps.database.commit({
        rows: changes.map(({ row }) => row),
        settings: { [VERSION]: String(version) },
      });
    } catch (error) {
      this.#deps.log.error("failed to write objects", { error });
      this.#undo(changes.map(({ change }) => change));
      waiting.reject(error);
      return;
    }
    for (const { change, row } of changes) this.#remember(change, row.content?.length ?? 256);
    waiting.resolve();
    this.#committed.set(version);
  }

  #undo(changes: readonly Change[]): void {
    for (const { collection, key, before } of changes.toReversed()) {
      const objects = this.#collection(collection);
      if (before) objects.set(key, before);
      else objects.delete(key);
      this.#sorted.delete(collection);
    }
  }

  #remember(change: Change, bytes: number): void {
    this.#history.push({ change, bytes });
    this.#historyBytes += bytes;
    const { maxChanges, maxBytes } = this.#options;
    let dropped = 0;
    while (
      this.#history.length - dropped > maxChanges ||
      (this.#historyBytes > maxBytes && this.#history.length - dropped > 1)
    ) {
      const oldest = this.#history[dropped];
      if (!oldest) break;
      dropped += 1;
      this.#historyBytes -= oldest.bytes;
      this.#forgotten = oldest.change.version;
    }
    if (dropped > 0) this.#history = this.#history.slice(dropped);
  }

  #collection(name: string): Map<string, StoredObject> {
    let collection = this.#collections.get(name);
    if (!collection) {
      collection = new Map();
      this.#collections.set(name, collection);
    }
    return collection;
  }
}

/** A version of objects; `undefined` when it is none. */
function versionOf(text: unknown): number | undefined {
  if (typeof text !== "string" || !/^[1-9]\d{0,14}$/.test(text)) return undefined;
  return Number(text);
}

/** The object of a row, or what is wrong with the row. */
function objectOf({ key, content }: StoredRow): StoredObject | string {
  let object: ApiObject | string;
  try {
    object = parseApiObject(JSON.parse(content));
  } catch (error) {
    return messageOf(error);
  }
  if (typeof object === "string") return object;
  const found = keyOf(object.metadata);
  if (found !== key) return `it is of ${found}`;
  return hasUid(object) ? object : "it has no UID";
}

const hasUid = (object: ApiObject): object is StoredObject =>
  typeof object.metadata.uid === "string" && object.metadata.uid !== "";

function stamped(object: ApiObject, version: number): StoredObject {
  invariant(hasUid(object), `${keyOf(object.metadata)} has no UID`);
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}

/** Keys in the order of their bytes, as etcd has them; keys are ASCII. */
function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

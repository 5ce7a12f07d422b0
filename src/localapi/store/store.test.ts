import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createSystemClock } from "../../kit/clock.ts";
import { silentLog } from "../../kit/log.ts";
import type { Batch, BrokenRow, Database, StoredRow } from "../../outside/database/database.ts";
import type { ApiObject } from "../api-object.ts";
import { ObjectStore } from "./store.ts";

/** A database in memory that can refuse to write. */
class MemoryDatabase implements Database {
  readonly kept = new Map<string, StoredRow>();
  readonly settings = new Map<string, string>();
  readonly batches: Batch[] = [];
  refuses = false;

  rows(): Iterable<StoredRow> {
    return this.kept.values();
  }

  setting(name: string): string | undefined {
    return this.settings.get(name);
  }

  commit(batch: Batch): void {
    if (this.refuses) throw new Error("disk full");
    this.batches.push(batch);
    for (const { collection, key, content } of batch.rows) {
      if (content === undefined) this.kept.delete(`${collection} ${key}`);
      else this.kept.set(`${collection} ${key}`, { collection, key, content });
    }
    for (const [name, value] of Object.entries(batch.settings ?? {}))
      this.settings.set(name, value);
  }

  readonly aside: BrokenRow[] = [];

  setAside(rows: readonly BrokenRow[]): void {
    for (const row of rows) {
      this.kept.delete(`${row.collection} ${row.key}`);
      this.aside.push(row);
    }
  }

  broken(): readonly BrokenRow[] {
    return this.aside.filter(({ collection, key }) => !this.kept.has(`${collection} ${key}`));
  }

  close(): void {}
}

const map = (name: string, value: string): ApiObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "a", uid: `uid-${name}` },
  data: { value },
});
const valuesOf = (objects: readonly ApiObject[] | undefined) =>
  objects?.map(({ metadata, data }) => `${metadata.name}=${(data as { value: string }).value}`);

function storeOn(
  database: Database,
  limits = { maxChanges: 100, maxBytes: 1_000_000 },
): ObjectStore {
  return new ObjectStore(limits, { database, clock: createSystemClock(), log: silentLog });
}

describe("ObjectStore", () => {
  test("writes of one turn go to the disk together, and nobody is notified of them before", async () => {
    const database = new MemoryDatabase();
    const store = storeOn(database);
    const before = store.version;
    let notified = 0;
    store.versions.subscribe(() => {
      notified += 1;
      assert.equal(database.batches.length, 1);
    });
    store.put("maps", map("x", "1"));
    store.put("maps", map("y", "1"));
    assert.equal(store.version, before);
    assert.deepEqual(store.since(before), []);
    await store.settled();
    assert.deepEqual(
      [store.version, notified, database.batches[0]?.rows.length],
      [before + 2, 1, 2],
    );
    assert.deepEqual(
      store.since(before)?.map(({ key, version }) => [key, version - before]),
      [
        ["a/x", 1],
        ["a/y", 2],
      ],
    );
  });

  test("an object whose write fails does not exist afterwards", async () => {
    const database = new MemoryDatabase();
    const store = storeOn(database);
    store.put("maps", map("x", "1"));
    await store.settled();
    database.refuses = true;
    store.put("maps", map("x", "2"));
    store.put("maps", map("y", "1"));
    store.remove("maps", map("x", "2"));
    await assert.rejects(store.settled(), /disk full/);
    assert.deepEqual(valuesOf(store.list("maps")), ["x=1"]);
    database.refuses = false;
    store.put("maps", map("z", "1"));
    await store.settled();
    assert.deepEqual(valuesOf(store.list("maps")), ["x=1", "z=1"]);
  });

  test("objects and versions are there after a new start, also when the last change was a removal", async () => {
    const database = new MemoryDatabase();
    const store = storeOn(database);
    store.put("maps", map("x", "1"));
    store.put("maps", map("y", "1"));
    await store.settled();
    store.remove("maps", map("y", "1"));
    await store.settled();
    const again = storeOn(database);
    assert.equal(again.version, store.version);
    assert.deepEqual(valuesOf(again.list("maps")), ["x=1"]);
    assert.equal(again.since(again.version - 1), undefined, "the past is forgotten");
    assert.deepEqual(again.since(again.version), []);
  });

  test("lists of the past are what they were, as long as it is remembered", async () => {
    const database = new MemoryDatabase();
    const store = storeOn(database, { maxChanges: 4, maxBytes: 1_000_000 });
    const seen: [number, readonly string[] | undefined][] = [];
    for (const write of [
      () => store.put("maps", map("x", "1")),
      () => store.put("maps", map("y", "1")),
      () => store.put("maps", map("x", "2")),
      () => store.remove("maps", map("y", "1")),
      () => store.put("others", map("x", "9")),
    ]) {
      write();
      await store.settled();
      seen.push([store.version, valuesOf(store.list("maps"))]);
    }
    for (const [version, values] of seen)
      assert.deepEqual(valuesOf(store.listAt("maps", version)), values, String(version));
    store.put("maps", map("z", "1"));
    await store.settled();
    assert.equal(store.listAt("maps", seen[0]?.[0] ?? 0), undefined);
    assert.equal(store.since(seen[0]?.[0] ?? 0), undefined);
  });

  test("the past takes no more memory than it may", async () => {
    const store = storeOn(new MemoryDatabase(), { maxChanges: 1_000, maxBytes: 10_000 });
    const before = store.version;
    for (let i = 0; i < 10; i += 1) store.put("maps", map("x", "v".repeat(3_000)));
    await store.settled();
    assert.ok(store.forgotten >= before + 6, `${store.forgotten}`);
    assert.ok((store.since(store.forgotten)?.length ?? 0) <= 3);
  });

  const BROKEN: Readonly<Record<string, readonly [content: string, why: RegExp]>> = {
    "cut off": ['{"apiVersion":"v1","ki', /JSON/],
    empty: ["", /JSON/],
    "no object": ["[1]", /not an object/],
    "without metadata": ['{"apiVersion":"v1","kind":"ConfigMap"}', /no metadata/],
    "without kind": ['{"metadata":{"name":"bad","namespace":"a"}}', /no kind/],
    "without name": [
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a"}}',
      /no name/,
    ],
    "without UID": [
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad","namespace":"a"}}',
      /no UID/,
    ],
    "of another object": [JSON.stringify(map("other", "1")), /it is of a\/other/],
  };
  for (const [what, [content, why]] of Object.entries(BROKEN)) {
    test(`a row that is ${what} is set aside with the reason, and the rest serves`, async () => {
      const database = new MemoryDatabase();
      const first = storeOn(database);
      first.put("maps", map("x", "1"));
      await first.settled();
      database.kept.set("maps a/bad", { collection: "maps", key: "a/bad", content });
      const store = storeOn(database);
      assert.deepEqual(valuesOf(store.list("maps")), ["x=1"]);
      assert.equal(store.version, first.version);
      assert.deepEqual(
        store.broken.map((row) => [row.collection, row.key, row.content]),
        [["maps", "a/bad", content]],
      );
      assert.match(store.broken[0]?.why ?? "", why);
      store.put("maps", map("bad", "again"));
      await store.settled();
      assert.deepEqual(store.broken, [], "it is there again");
    });
  }

  for (const version of [undefined, "", "abc", "NaN", "-1", "1e9", 7])
    test(`an object of version ${JSON.stringify(version)} gets one, and the store has a number`, async () => {
      const database = new MemoryDatabase();
      const first = storeOn(database);
      first.put("maps", map("x", "1"));
      await first.settled();
      const { metadata, ...rest } = map("y", "2");
      const content = JSON.stringify({
        ...rest,
        metadata: { ...metadata, resourceVersion: version },
      });
      database.kept.set("maps a/y", { collection: "maps", key: "a/y", content });
      const store = storeOn(database);
      await store.settled();
      assert.deepEqual(valuesOf(store.list("maps")), ["x=1", "y=2"]);
      assert.equal(store.version, first.version + 1);
      assert.equal(store.get("maps", "a/y")?.metadata.resourceVersion, String(store.version));
      assert.match(database.kept.get("maps a/y")?.content ?? "", /"resourceVersion":"\d+"/);
    });

  test("versions never go back, also when the one that was kept makes no sense", async () => {
    const database = new MemoryDatabase();
    const first = storeOn(database);
    for (let i = 0; i < 5; i += 1) first.put("maps", map("x", `${i}`));
    first.remove("maps", map("x", "4"));
    await first.settled();
    database.settings.set("version", "NaN");
    assert.ok(storeOn(database).version > first.version);
  });

  test("a version that does not follow the one an object has is refused before anything is written", async () => {
    const database = new MemoryDatabase();
    const store = storeOn(database);
    const { metadata } = store.put("maps", map("x", "1"));
    await store.settled();
    Object.assign(metadata, { resourceVersion: String(store.version + 100) });
    assert.throws(() => store.put("maps", map("x", "2")), /version \d+ of a\/x does not follow/);
    assert.throws(() => store.remove("maps", map("x", "2")), /does not follow/);
    await store.settled();
    assert.deepEqual(valuesOf(store.list("maps")), ["x=1"]);
    assert.equal(database.batches.length, 1);
  });
});

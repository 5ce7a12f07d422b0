import assert from "node:assert/strict";
import { test } from "node:test";
import { TornAppend } from "../../../test/sim/fake-file-nodes.ts";
import { FakeFiles } from "../../../test/sim/fake-files.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { OutsideError } from "../errors.ts";
import { silentLog } from "../log.ts";
import { TaskScope } from "../scope.ts";
import { KeyedLog } from "./keyed-log.ts";
import { type StateFile, StateFiles } from "./state-files.ts";
import { StateReserve } from "./state-reserve.ts";

const PATH = "/state/values.jsonl";
const RESERVE = "/state/reserve";
const FILE: StateFile = { name: "values", path: PATH, holds: "values", important: true };

function world() {
  const clock = new SimClock();
  const operations: string[] = [];
  let broken: OutsideError | undefined;
  const files = new FakeFiles({
    wall: () => clock.wall(),
    fault: (operation, path) => {
      if (path === PATH && (operation === "append" || operation === "writeAtomic")) {
        operations.push(operation);
        if (!(broken instanceof TornAppend)) return broken;
        if (operation === "append" && files.paths.includes(RESERVE)) return broken;
      }
      return undefined;
    },
  });
  const values = new Map<string, string>();
  const deps = { files, clock, log: silentLog };
  const reserve = new StateReserve(RESERVE, { ...deps, freeBytes: async () => 0 });
  const state = new StateFiles({ ...deps, reserve });
  const log = (options: { readonly maxBytes?: number } = {}) =>
    new KeyedLog<string>(
      {
        ...options,
        file: FILE,
        valueOf: (key) => values.get(key),
        keys: () => values.keys(),
        decode: (value) => (typeof value === "string" ? value : undefined),
      },
      { state },
    );
  const set = (of: KeyedLog<string>, key: string, value: string | undefined) => {
    if (value === undefined) values.delete(key);
    else values.set(key, value);
    of.changed(key);
  };
  const text = () => files.readText(PATH, { maxBytes: 1e9 });
  const breakDisk = (now: boolean) => {
    broken = now ? new OutsideError("exhausted", "disk full") : undefined;
  };
  /** What is appended is written by half until the reserve is given up. */
  const tearAppends = async () => {
    await files.writeAtomic(RESERVE, "space", 0o600);
    broken = new TornAppend();
  };
  const kept = async () => Object.fromEntries(await log().open());
  return { clock, files, state, values, operations, log, set, text, breakDisk, tearAppends, kept };
}

test("open: of each key the last value counts, and one that was removed is gone", async () => {
  const { log, set, kept } = world();
  const first = log();
  assert.deepEqual(await first.open(), new Map());
  for (const value of ["1", "2", "3"]) {
    set(first, "a", value);
    await first.flush();
  }
  set(first, "b", "1");
  await first.flush();
  set(first, "c", "1");
  set(first, "b", undefined);
  await first.flush();
  assert.deepEqual(await kept(), { a: "3", c: "1" });
});

test("changed: what changes in one turn is one write, what changes meanwhile another", async () => {
  const { log, set, operations, kept } = world();
  const values = log();
  await values.open();
  set(values, "first", "x");
  await values.flush();
  operations.length = 0;
  for (let i = 0; i < 100; i += 1) set(values, `k${i}`, "x");
  for (let i = 0; i < 100; i += 1) set(values, "k0", `${i}`);
  await values.flush();
  assert.deepEqual(operations, ["append"]);
  assert.equal((await kept())["k0"], "99");
});

test("changed: the first write of a run rewrites what another run left, and keeps all that has a value", async () => {
  const { log, set, values, operations, kept, text } = world();
  const first = log();
  await first.open();
  for (let i = 0; i < 50; i += 1) {
    set(first, "a", `${i}`);
    await first.flush();
  }
  set(first, "b", "old");
  await first.flush();
  values.clear();
  const second = log();
  for (const [key, value] of await second.open()) values.set(key, value);
  operations.length = 0;
  set(second, "c", "new");
  await second.flush();
  assert.deepEqual(operations, ["writeAtomic"]);
  assert.equal((await text())?.split("\n").length, 3 + 1);
  assert.deepEqual(await kept(), { a: "49", b: "old", c: "new" });
});

test("changed: the file stays below a multiple of what counts, whatever changes", async () => {
  const { log, set, text, kept } = world();
  const values = log();
  await values.open();
  const value = "x".repeat(10_000);
  let most = 0;
  for (let i = 0; i < 1_000; i += 1) {
    set(values, `k${i % 10}`, `${i} ${value}`);
    await values.flush();
    most = Math.max(most, (await text())?.length ?? 0);
  }
  const live = 10 * 10_100;
  assert.ok(most > live && most < 6 * live, `${most} bytes`);
  assert.equal(Object.keys(await kept()).length, 10);
});

test("changed: many large values can be read back", async () => {
  const { log, set, values, state } = world();
  const first = log();
  await first.open();
  for (let i = 0; i < 80; i += 1) set(first, `k${i}`, `${i} ${"x".repeat(1024 * 1024)}`);
  assert.equal(await first.flush(), true);
  assert.deepEqual(await log().open(), values);
  assert.deepEqual(state.problems.get(), []);
});

test("changed: where all values change at once the file is not larger than what is read back", async () => {
  const { log, set, values, state, operations } = world();
  const maxBytes = 10_000;
  const first = log({ maxBytes });
  await first.open();
  // One character has two bytes.
  const value = "ü".repeat(500);
  for (const round of [1, 2, 3])
    for (const keys of [5, 1]) {
      for (let i = 0; i < keys; i += 1) set(first, `k${i}`, `${round} ${keys} ${value}`);
      assert.equal(await first.flush(), true);
      assert.deepEqual(await log({ maxBytes }).open(), values);
    }
  const [whole, part] = ["writeAtomic", "append"];
  assert.deepEqual(operations, [whole, part, whole, part, whole, part]);
  assert.deepEqual(state.problems.get(), []);
});

test("changed: values that could not be read back leave the file as it was, which is reported", async () => {
  const { log, set, state, text, values } = world();
  const first = log({ maxBytes: 1_000 });
  await first.open();
  set(first, "a", "x".repeat(500));
  await first.flush();
  const before = await text();
  set(first, "b", "x".repeat(500));
  assert.equal(await first.flush(), false);
  assert.equal(await text(), before);
  assert.deepEqual(
    state.problems.get().map(({ kind, why }) => [kind, why]),
    [["unwritten", "it would have 1068 bytes, and no more than 1000 are read back"]],
  );
  set(first, "b", undefined);
  assert.equal(await first.flush(), true);
  assert.deepEqual(await log().open(), values);
  assert.deepEqual(state.problems.get(), []);
});

test("changed: what a full disk did not take is written with the next change", async () => {
  const { log, set, breakDisk, kept } = world();
  const values = log();
  await values.open();
  set(values, "a", "1");
  await values.flush();
  breakDisk(true);
  set(values, "b", "1");
  await values.flush();
  breakDisk(false);
  set(values, "c", "1");
  await values.flush();
  assert.deepEqual(await kept(), { a: "1", b: "1", c: "1" });
});

test("changed: what a full disk did not take is written by itself when there is space again", async () => {
  const { log, set, breakDisk, kept, clock, state } = world();
  await using scope = new TaskScope("test", { clock, log: silentLog });
  state.keep(scope);
  const values = log();
  await values.open();
  set(values, "a", "1");
  await values.flush();
  breakDisk(true);
  set(values, "a", "2");
  assert.equal(await values.flush(), false);
  await clock.advance(120_000);
  breakDisk(false);
  await clock.advance(60_000);
  assert.equal(await values.flush(), true);
  assert.deepEqual(await kept(), { a: "2" });
  assert.deepEqual(state.problems.get(), []);
});

for (const count of [1, 2, 3])
  test(`changed: ${count} values of which a full disk took a half are whole once space was freed`, async () => {
    const { files, state, log, set, text, tearAppends, kept } = world();
    const values = log();
    await values.open();
    set(values, "k0", "old");
    await values.flush();
    const old = (await text()) ?? "";
    await tearAppends();
    const next = (i: number) => `new ${"ü".repeat(100 * (i + 1))}`;
    for (let i = 0; i < count; i += 1) set(values, `k${i}`, next(i));
    assert.equal(await values.flush(), true);
    assert.ok(!files.paths.includes(RESERVE), "the reserve was not needed");
    assert.match((await text())?.slice(old.length) ?? "", /ü\n\{/, "nothing was torn");
    const found = await kept();
    assert.deepEqual(
      found,
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, next(i)])),
    );
    assert.deepEqual(await kept(), found, "also the next time");
    assert.deepEqual(state.problems.get(), []);
  });

test("open: a file of which no value is left is in order", async () => {
  const { log, set, state, kept } = world();
  const values = log();
  await values.open();
  set(values, "a", "1");
  await values.flush();
  set(values, "a", undefined);
  await values.flush();
  const again = log();
  await again.open();
  // The first change of a run writes all values there are: none.
  again.changed("a");
  await again.flush();
  assert.deepEqual(await kept(), {});
  assert.deepEqual(state.problems.get(), []);
});

const DAMAGES: Readonly<Record<string, (text: string) => string>> = {
  "a torn last line": (text) => `${text}{"format":1,"key":"b","va`,
  "an invalid line between others": (text) => `garbage\n${text}`,
  "a value that makes no sense": (text) => `${text}{"format":1,"key":"z","value":5}\n`,
  "a line of a newer version": (text) => `${text}{"format":2,"key":"a","value":"2"}\n`,
};
for (const [damage, apply] of Object.entries(DAMAGES)) {
  test(`open: ${damage} costs that line only`, async () => {
    const { files, log, set, text, kept } = world();
    const values = log();
    await values.open();
    for (const key of ["a", "b"]) set(values, key, "1");
    await values.flush();
    await files.writeAtomic(PATH, apply((await text()) ?? ""), 0o600);
    assert.deepEqual(await kept(), { a: "1", b: "1" });
    assert.deepEqual(await kept(), { a: "1", b: "1" }, "also the next time");
  });
}

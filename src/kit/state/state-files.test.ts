import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FakeFiles, type Fault } from "../../../test/sim/fake-files.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { OutsideError } from "../errors.ts";
import { silentLog } from "../log.ts";
import { MetricsRegistry } from "../metrics.ts";
import { createSeededRandom } from "../random.ts";
import { TaskScope } from "../scope.ts";
import { KEPT_BROKEN } from "./free-name.ts";
import { type DecodedState, type StateFile, StateFiles } from "./state-files.ts";
import { RESERVE_BYTES, StateReserve } from "./state-reserve.ts";

const FILE: StateFile = { name: "numbers", path: "/state/numbers.json", holds: "the numbers" };
const FOLDER: StateFile = { name: "folder", path: "/state", holds: "everything" };
const IMPORTANT: StateFile = { ...FILE, important: true };
const MAX_BYTES = 1_000;

async function world() {
  const clock = new SimClock();
  let fault: Fault = () => undefined;
  const files = new FakeFiles({ wall: () => clock.wall(), fault: (...of) => fault(...of) });
  const deps = { files, clock, log: silentLog };
  let free = RESERVE_BYTES * 100;
  const reserve = new StateReserve("/state/reserve", { ...deps, freeBytes: async () => free });
  const open = () => new StateFiles({ ...deps, reserve });
  await files.makeDirectory("/state", 0o700);
  return {
    clock,
    files,
    open,
    text: (path: string) => files.readText(path, { maxBytes: RESERVE_BYTES }),
    failWith: (next: Fault) => {
      fault = next;
    },
    setFree: (bytes: number) => {
      free = bytes;
    },
  };
}

/** Decodes `{"version":1,"n":5}`. */
function decode(text: string): DecodedState<number> {
  const { version, n } = JSON.parse(text) as { version?: unknown; n?: unknown };
  if (version !== 1) return { kind: "broken", why: `version ${version} is not known` };
  return typeof n === "number" ? { kind: "read", value: n } : { kind: "broken", why: "no number" };
}

const GOOD = '{"version":1,"n":5}';
const failing =
  (...operations: readonly string[]): Fault =>
  (operation, path) =>
    operations.includes(operation) && path.startsWith(FILE.path)
      ? new OutsideError("io", `${operation} ${path}: EIO`)
      : undefined;

describe("StateFiles", () => {
  const DAMAGES: Readonly<Record<string, readonly [content: string, why: RegExp]>> = {
    empty: ["", /JSON/],
    "cut off": [GOOD.slice(0, 9), /JSON/],
    garbage: ["\0\x01\x02 garbage", /JSON/],
    "without what it should hold": ['{"version":1}', /^no number$/],
    "of a newer version": ['{"version":2,"n":5}', /^version 2 is not known$/],
    "far too long": ["x".repeat(2 * MAX_BYTES), /read/],
  };
  for (const [damage, [content, why]] of Object.entries(DAMAGES)) {
    test(`a file that is ${damage} counts as missing, is kept beside and reported`, async () => {
      const { files, open, text } = await world();
      await files.writeAtomic(FILE.path, content, 0o600);
      const state = open();
      assert.equal(await state.read(FILE, MAX_BYTES, decode), undefined);
      assert.equal(await text(FILE.path), undefined);
      assert.equal(await text(`${FILE.path}.broken`), content);
      const [problem, ...others] = state.problems.get();
      assert.deepEqual(others, []);
      assert.equal(problem?.kind, "setAside");
      assert.equal(problem?.keptAs, `${FILE.path}.broken`);
      assert.match(problem?.why ?? "", why);
      await state.write(FILE, GOOD, 0o600);
      assert.equal(await open().read(FILE, MAX_BYTES, decode), 5);
      const metrics = new MetricsRegistry();
      state.expose(metrics);
      assert.match(metrics.expose(), /nodelet_state_files_set_aside_total\{file="numbers"\} 1\n/);
    });
  }

  test("a missing file is no problem, a good one is read and stays", async () => {
    const { open, files, text } = await world();
    const state = open();
    assert.equal(await state.read(FILE, MAX_BYTES, decode), undefined);
    await files.writeAtomic(FILE.path, GOOD, 0o600);
    assert.equal(await state.read(FILE, MAX_BYTES, decode), 5);
    assert.equal(await text(FILE.path), GOOD);
    assert.deepEqual(state.problems.get(), []);
  });

  test("a folder in place of a file is set aside with what it holds, at start and later", async () => {
    const { files, open, text } = await world();
    await files.makeDirectory(FILE.path, 0o700);
    await files.writeAtomic(`${FILE.path}/x`, "mine", 0o600);
    const state = open();
    assert.equal(await state.read(FILE, MAX_BYTES, decode), undefined);
    assert.equal(await text(`${FILE.path}.broken/x`), "mine");
    await files.makeDirectory(FILE.path, 0o700);
    await state.write(FILE, GOOD, 0o600);
    assert.equal(await text(FILE.path), GOOD);
    assert.equal((await files.facts(`${FILE.path}.broken.2`))?.kind, "directory");
  });

  test("a file in place of a folder is set aside", async () => {
    const { files, open, text } = await world();
    const folder = { ...FOLDER, path: "/state/pods" };
    await files.writeAtomic(folder.path, "mine", 0o600);
    const state = open();
    await state.makeFolder(folder, 0o700);
    assert.equal((await files.facts(folder.path))?.kind, "directory");
    assert.equal(await text("/state/pods.broken"), "mine");
    assert.deepEqual(await state.list(folder), []);
  });

  test("a file that fails to be read with an I/O error is set aside", async () => {
    const { files, open, failWith, text } = await world();
    await files.writeAtomic(FILE.path, GOOD, 0o600);
    failWith(failing("readText"));
    const state = open();
    assert.equal(await state.read(FILE, MAX_BYTES, decode), undefined);
    failWith(() => undefined);
    assert.equal(await text(`${FILE.path}.broken`), GOOD);
  });

  test("what cannot even be renamed counts as missing and is never overwritten", async () => {
    const { files, open, failWith, text } = await world();
    await files.writeAtomic(FILE.path, "garbage", 0o600);
    failWith(failing("rename"));
    const state = open();
    assert.equal(await state.read(FILE, MAX_BYTES, decode), undefined);
    assert.deepEqual(
      state.problems.get().map(({ kind }) => kind),
      ["unusable"],
    );
    await assert.rejects(state.write(FILE, GOOD, 0o600), /cannot be renamed/);
    assert.equal(await text(FILE.path), "garbage");
    failWith(() => undefined);
    await state.write(FILE, GOOD, 0o600);
    assert.equal(await text(FILE.path), GOOD);
    assert.equal(await text(`${FILE.path}.broken`), "garbage");
    assert.deepEqual(
      state.problems.get().map(({ kind }) => kind),
      ["setAside"],
    );
  });

  test("a file that cannot be written is a problem until it can be, reported once", async () => {
    const { open, failWith } = await world();
    const state = open();
    failWith(failing("writeAtomic"));
    for (let i = 0; i < 3; i += 1) await assert.rejects(state.write(FILE, GOOD, 0o600), /EIO/);
    assert.deepEqual(
      state.problems.get().map(({ kind }) => kind),
      ["unwritten"],
    );
    failWith(() => undefined);
    await state.write(FILE, GOOD, 0o600);
    assert.deepEqual(state.problems.get(), []);
  });

  test("what could not be written is written again by itself, the latest content only, and removals", async () => {
    const { clock, files, open, failWith, text } = await world();
    await using scope = new TaskScope("test", { clock, log: silentLog });
    const state = open();
    state.keep(scope);
    const other = { ...FILE, path: "/state/other.json" };
    const gone = { ...FILE, path: "/state/gone.json" };
    await state.write(gone, GOOD, 0o600);
    failWith((operation, path) =>
      ["writeAtomic", "remove"].includes(operation)
        ? new OutsideError("exhausted", `${operation} ${path}: ENOSPC`)
        : undefined,
    );
    for (const n of [1, 2]) await assert.rejects(state.write(FILE, `{"n":${n}}`, 0o600));
    await assert.rejects(state.write(other, "old", 0o600));
    await assert.rejects(state.remove(gone));
    await clock.advance(90_000);
    assert.equal(state.problems.get().length, 3);
    failWith(() => undefined);
    await state.write(other, "new", 0o600);
    await clock.advance(60_000);
    assert.deepEqual(state.problems.get(), []);
    assert.equal(await text(FILE.path), '{"n":2}');
    assert.equal(await text(other.path), "new");
    assert.equal(await files.facts(gone.path), undefined);
    assert.equal(clock.pending, 1, "only the reserve is kept up once all is written");
  });

  test("a problem of appending lasts as long as the disk's, also where nothing more is added", async () => {
    const { clock, open, failWith, text } = await world();
    await using scope = new TaskScope("test", { clock, log: silentLog });
    const state = open();
    state.keep(scope);
    await state.append(FILE, "{1}\n", 0o600);
    failWith(failing("append"));
    await assert.rejects(state.append(FILE, "{2}\n", 0o600), /EIO/);
    for (const _ of [1, 2, 3]) {
      assert.equal(state.problems.get().length, 1);
      await clock.advance(60_000);
    }
    failWith(() => undefined);
    await clock.advance(60_000);
    assert.deepEqual(state.problems.get(), []);
    assert.equal(await text(FILE.path), "{1}\n\n");
  });

  test("a folder that could not be made is made with the first file that is written", async () => {
    const { open, failWith, text } = await world();
    const folder = { ...FOLDER, path: "/state/pods" };
    const file = { ...FILE, path: "/state/pods/a.json" };
    const state = open();
    failWith((operation, path) =>
      operation === "makeDirectory"
        ? new OutsideError("exhausted", `make folder ${path}: ENOSPC`)
        : undefined,
    );
    await state.makeFolder(folder, 0o700);
    await assert.rejects(state.write(file, GOOD, 0o600));
    assert.deepEqual(
      state.problems.get().map(({ path, kind }) => `${path} ${kind}`),
      ["/state/pods unwritten", "/state/pods/a.json unwritten"],
    );
    failWith(() => undefined);
    await state.write(file, GOOD, 0o600);
    assert.equal(await text(file.path), GOOD);
    assert.deepEqual(state.problems.get(), []);
  });

  test("what killed writes left behind is removed, and nothing else", async () => {
    const { clock, files, open, failWith } = await world();
    const left = [".tmp-0123456789abcdef", ".tmp-aaaaaaaaaaaaaaaa"];
    const kept = [".tmp-0123", ".tmp-0123456789ABCDEF", "a.tmp-0123456789abcdef", "numbers.json"];
    for (const name of [...left, ...kept]) await files.writeAtomic(`/state/${name}`, "x", 0o600);
    await files.makeDirectory("/state/.tmp-bbbbbbbbbbbbbbbb", 0o700);
    await clock.advance(600_001);
    await files.writeAtomic("/state/.tmp-fresh", "x", 0o600);
    await files.writeAtomic("/state/.tmp-cccccccccccccccc", "x", 0o600);
    const names = async () => (await files.list("/state"))?.map(({ name }) => name) ?? [];
    failWith((operation, path) =>
      operation === "remove" ? new OutsideError("io", `remove ${path}: EIO`) : undefined,
    );
    await open().makeFolder(FOLDER, 0o700);
    assert.equal((await names()).length, left.length + kept.length + 3);
    failWith(() => undefined);
    await open().makeFolder(FOLDER, 0o700);
    assert.deepEqual(
      await names(),
      [...kept, ".tmp-bbbbbbbbbbbbbbbb", ".tmp-cccccccccccccccc", ".tmp-fresh"].toSorted(),
    );
    await open().clearLeftovers("/none");
  });

  test("damaged files are numbered, and only so many are kept", async () => {
    const { clock, files, open, text } = await world();
    const state = open();
    for (let i = 0; i < KEPT_BROKEN + 2; i += 1) {
      await files.writeAtomic(FILE.path, `garbage ${i}`, 0o600);
      await clock.advance(1_000);
      await state.read(FILE, MAX_BYTES, decode);
    }
    const names = (await state.list(FOLDER)).map(({ name }) => name);
    assert.equal(names.length, KEPT_BROKEN);
    const kept = await Promise.all(names.map((name) => text(`/state/${name}`)));
    assert.deepEqual(
      kept.toSorted(),
      Array.from({ length: KEPT_BROKEN }, (_, i) => `garbage ${i + 2}`),
    );
  });

  test("lines that make no sense cost themselves only, and the file is kept as it was", async () => {
    const { files, open, text } = await world();
    const isLine = (line: string) => line.startsWith("{");
    const limits = { maxBytes: MAX_BYTES, mode: 0o600 };
    await files.writeAtomic(FILE.path, "{1}\nnonsense\n{2}\n{3", 0o600);
    const state = open();
    assert.equal(await state.readLines(FILE, limits, isLine), "{1}\n{2}\n{3\n");
    assert.equal(await text(FILE.path), "{1}\n{2}\n{3\n");
    assert.equal(await text(`${FILE.path}.broken`), "{1}\nnonsense\n{2}\n{3");
  });

  for (const [what, content, kept, why] of [
    ["empty", "", "", "it is empty"],
    ["full of zeros", "\0".repeat(20), "", "1 of its lines"],
    ["zeros from some line on", `{1}\n{2}\n${"\0".repeat(9)}`, "{1}\n{2}\n", "1 of its lines"],
  ] as const)
    test(`a file of lines that is ${what} is set aside and named`, async () => {
      const { files, open, text } = await world();
      const limits = { maxBytes: MAX_BYTES, mode: 0o600 };
      await files.writeAtomic(FILE.path, content, 0o600);
      const state = open();
      const isLine = (line: string) => /^{\d}$/.test(line);
      assert.equal(await state.readLines(FILE, limits, isLine), kept);
      assert.equal(await text(`${FILE.path}.broken`), content);
      const [problem] = state.problems.get();
      assert.equal(problem?.kind, "setAside");
      assert.ok(problem?.why.startsWith(why), problem?.why);
      const again = open();
      assert.equal(await again.readLines(FILE, limits, isLine), kept);
      assert.deepEqual(again.problems.get(), [], "only once");
    });

  test("a file of lines of which none is left is not taken for an empty one", async () => {
    const { files, open } = await world();
    const limits = { maxBytes: MAX_BYTES, mode: 0o600 };
    await files.writeAtomic(FILE.path, "{1", 0o600);
    for (let start = 0; start < 3; start += 1) {
      const state = open();
      assert.equal((await state.readLines(FILE, limits, (line) => /^{\d}$/.test(line))).trim(), "");
      assert.deepEqual(state.problems.get(), []);
    }
  });

  test("a last line torn by a crash is left out silently", async () => {
    const { files, open, text } = await world();
    const limits = { maxBytes: MAX_BYTES, mode: 0o600 };
    await files.writeAtomic(FILE.path, "{1}\n{2}\n{3", 0o600);
    const state = open();
    assert.equal(await state.readLines(FILE, limits, (line) => /^{\d}$/.test(line)), "{1}\n{2}\n");
    assert.equal(await text(FILE.path), "{1}\n{2}\n");
    assert.deepEqual(state.problems.get(), []);
  });

  test("whatever is there and whatever fails: reading never throws, nothing is lost", async () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const { files, open, failWith } = await world();
      const random = createSeededRandom(seed);
      const content = Array.from({ length: 1 + Math.floor(random.next() * 40) }, () =>
        String.fromCharCode(Math.floor(random.next() * 128)),
      ).join("");
      await files.writeAtomic(FILE.path, content, 0o600);
      failWith((operation, path) =>
        path.startsWith(FILE.path) && random.next() < 0.3
          ? new OutsideError("io", `${operation} ${path}: EIO`)
          : undefined,
      );
      const state = open();
      await state.read(FILE, MAX_BYTES, decode);
      await state.write(FILE, GOOD, 0o600).catch(() => {});
      failWith(() => undefined);
      const found = await Promise.all(
        files.paths
          .filter((path) => path.startsWith(FILE.path))
          .map((path) => files.readText(path, { maxBytes: MAX_BYTES })),
      );
      assert.ok(found.includes(content), `seed ${seed}: ${JSON.stringify(found)}`);
    }
  });
});

describe("StateReserve", () => {
  test("an important write on a full disk gets the reserve, an ordinary one does not; it is made again", async () => {
    const { clock, files, open, failWith, setFree } = await world();
    const scope = new TaskScope("test", { clock, log: silentLog });
    const state = open();
    state.keep(scope);
    await clock.advance(1);
    assert.equal((await files.facts("/state/reserve"))?.sizeBytes, RESERVE_BYTES);
    setFree(0);
    const isHeld = () => files.paths.includes("/state/reserve");
    failWith((operation, path) =>
      operation === "writeAtomic" && isHeld()
        ? new OutsideError("exhausted", `write ${path}: no space left on device (ENOSPC)`)
        : undefined,
    );
    await assert.rejects(state.write(FILE, GOOD, 0o600), /ENOSPC/);
    const cause = Object.assign(new Error("open"), { code: "EMFILE" });
    let fails = true;
    failWith((operation, path) => {
      if (operation !== "writeAtomic") return undefined;
      if (fails) return new OutsideError("exhausted", "open: EMFILE", { cause });
      const error = new OutsideError(
        "exhausted",
        `write ${path}: no space left on device (ENOSPC)`,
      );
      return isHeld() ? error : undefined;
    });
    await assert.rejects(state.write(IMPORTANT, GOOD, 0o600), /EMFILE/);
    assert.equal(isHeld(), true, "no space is freed for what is short of descriptors");
    fails = false;
    await state.write(IMPORTANT, GOOD, 0o600);
    assert.equal(isHeld(), false);
    await clock.advance(120_000);
    assert.equal(isHeld(), false, "there is no space for it yet");
    setFree(RESERVE_BYTES * 100);
    failWith(() => undefined);
    await clock.advance(120_000);
    assert.equal((await files.facts("/state/reserve"))?.sizeBytes, RESERVE_BYTES);
    await scope[Symbol.asyncDispose]();
  });
});

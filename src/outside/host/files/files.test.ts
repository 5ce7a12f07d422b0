import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { createSystemClock } from "../../../kit/clock.ts";
import { isOutside } from "../../../kit/errors.ts";
import { type Log, type LogFields, silentLog } from "../../../kit/log.ts";
import { createFiles } from "./files.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "files-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const files = createFiles({ clock: createSystemClock(), log: silentLog });

async function eventually(what: string, isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1000 && !isSo(); tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.ok(isSo(), `never: ${what}`);
}

test("reading a named pipe is refused instead of waiting for a writer", async () => {
  execFileSync("mkfifo", [`${folder}/pipe`]);
  for (const [read, code] of [
    [() => files.readText(`${folder}/pipe`, { maxBytes: 10 }), "invalid"],
    [() => files.readTail(folder, "pipe", 10), "precondition"],
  ] as const) {
    await assert.rejects(read, (thrown) => isOutside(thrown, code));
  }
  await assert.rejects(files.append(`${folder}/pipe`, "x", 0o600), (thrown) => isOutside(thrown));
});

test("a file that is too long is refused by its size, before anything of it is read", async () => {
  const path = `${folder}/sparse`;
  writeFileSync(path, "");
  truncateSync(path, 2 ** 40);
  const before = process.memoryUsage.rss();
  const began = performance.now();
  await assert.rejects(files.readText(path, { maxBytes: 500 * 2 ** 20 }), (thrown) => {
    assert.ok(isOutside(thrown, "exhausted"));
    assert.match(thrown.message, /sparse: longer than 524288000 bytes/);
    return true;
  });
  assert.ok(performance.now() - began < 1_000);
  assert.ok(process.memoryUsage.rss() - before < 100 * 2 ** 20);
});

test("what is not a regular file is not even opened to be read", async () => {
  execFileSync("mkfifo", [`${folder}/pipe`]);
  // Writers of a pipe wait in their open until somebody opens it to read.
  const script = `echo first > ${folder}/pipe; touch ${folder}/opened`;
  const writer = spawn("sh", ["-c", script], { stdio: "ignore" });
  const ended = once(writer, "exit");
  try {
    for (let tries = 0; tries < 20; tries += 1) {
      await assert.rejects(files.readTail(folder, "pipe", 10), (thrown) =>
        isOutside(thrown, "precondition"),
      );
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.equal(existsSync(`${folder}/opened`), false, "the writer of the pipe went on");
  } finally {
    writer.kill("SIGKILL");
    await ended;
  }
});

test("readText reads files of the kernel, which have no size", async () => {
  const text = await files.readText("/proc/self/status", { maxBytes: 1 << 20 });
  assert.match(text ?? "", /^Name:/);
});

test("many writers of one file leave one whole version", async () => {
  const versions = Array.from({ length: 30 }, (_, i) => String(i).repeat(10_000));
  await Promise.all(versions.map((text) => files.writeAtomic(`${folder}/f`, text, 0o600)));
  const text = await files.readText(`${folder}/f`, { maxBytes: 1 << 20 });
  assert.ok(versions.includes(text ?? ""));
  assert.deepEqual(await files.list(folder), [{ name: "f", kind: "file" }]);
});

test("watchDirectory goes on when the folder is moved away and another takes its place", async () => {
  const stop = new AbortController();
  const path = `${folder}/parent/watched`;
  let changes = 0;
  files.watchDirectory(path, () => (changes += 1), stop.signal);
  try {
    await eventually("word of the beginning", () => changes > 0);
    renameSync(path, `${folder}/parent/aside`);
    mkdirSync(path, { recursive: true });
    let settled: number;
    do {
      settled = changes;
      await new Promise((resolve) => setTimeout(resolve, 50));
    } while (changes !== settled);
    writeFileSync(`${path}/later`, "");
    await eventually("word of a later file", () => changes > settled);
  } finally {
    stop.abort();
  }
});

test("watchDirectory reports why it cannot watch and retries until it can", async () => {
  const warnings: (LogFields | undefined)[] = [];
  const log: Log = { ...silentLog, warn: (_, fields) => warnings.push(fields) };
  const stop = new AbortController();
  const path = `${folder}/blocked`;
  let changes = 0;
  writeFileSync(path, "a file where a folder must be");
  createFiles({ clock: createSystemClock(), log }).watchDirectory(
    path,
    () => (changes += 1),
    stop.signal,
  );
  try {
    await eventually("a warning", () => warnings.length > 0);
    assert.equal(warnings[0]?.["path"], path);
    assert.equal(changes, 0);
    rmSync(path);
    await eventually("word after the way is free", () => changes > 0);
  } finally {
    stop.abort();
  }
});

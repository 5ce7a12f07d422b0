import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { AppendFiles } from "./append-files.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "append-"));
  path = join(folder, "lines");
});
afterEach(() => rmSync(folder, { recursive: true }));

test("append: texts stand in the order of the calls, in one open file", async () => {
  const files = new AppendFiles();
  const texts = Array.from({ length: 100 }, (_, i) => `line ${i} ü\n`);
  await Promise.all(texts.map((text, i) => files.append(path, text, 0o640, i % 3 === 0)));
  assert.equal(readFileSync(path, "utf8"), texts.join(""));
  assert.equal(statSync(path).mode & 0o777, 0o640);
  assert.equal(files.size, 1);
});

test("release: what was asked for before is still written, and then the name is opened again", async () => {
  const files = new AppendFiles();
  await files.append(path, "one\n", 0o600);
  const second = files.append(path, "two\n", 0o600);
  files.release(path);
  renameSync(path, `${path}.old`);
  await second;
  await files.append(path, "three\n", 0o600);
  assert.equal(readFileSync(`${path}.old`, "utf8"), "one\ntwo\n");
  assert.equal(readFileSync(path, "utf8"), "three\n");
});

test("append: a file that was removed by somebody else is made again after a moment", async () => {
  const files = new AppendFiles();
  await files.append(path, "one\n", 0o600);
  rmSync(path);
  while (files.size > 0) await sleep(20);
  await files.append(path, "two\n", 0o600);
  assert.equal(readFileSync(path, "utf8"), "two\n");
});

test("append: what cannot be opened fails, and is tried again by the next call", async () => {
  const files = new AppendFiles();
  const deep = join(folder, "missing", "lines");
  await assert.rejects(files.append(deep, "x", 0o600), { code: "ENOENT" });
  assert.equal(files.size, 0);
  await assert.rejects(files.append(folder, "x", 0o600), { code: "EISDIR" });
});

test("append: only so many files are open at once", async () => {
  const files = new AppendFiles();
  for (let i = 0; i < 40; i += 1) await files.append(join(folder, `${i}`), `${i}`, 0o600);
  assert.ok(files.size <= 16, `${files.size} open`);
  for (let i = 0; i < 40; i += 1) assert.equal(readFileSync(join(folder, `${i}`), "utf8"), `${i}`);
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import type { MountEntry } from "../mounts/parse-mountinfo.ts";
import { measureTrees, type WalkOptions } from "./measure-tree.ts";

const MEBIBYTE = 1 << 20;
const BIG = "x".repeat(MEBIBYTE);

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "measure-tree-"));
});

// No function of Node removes what is that deep.
afterEach(() => void execFileSync("rm", ["-rf", folder]));

/** Makes folders within each other, deeper than any path can be long, and calls with each and its depth. */
function makeDeep(top: string, depth: number, each: (path: string, at: number) => void): void {
  let descriptor = openSync(top, "r");
  try {
    for (let at = 1; at <= depth; at += 1) {
      const next = `/proc/self/fd/${descriptor}/d`;
      mkdirSync(next);
      const inner = openSync(next, "r");
      closeSync(descriptor);
      descriptor = inner;
      each(`/proc/self/fd/${descriptor}`, at);
    }
  } finally {
    closeSync(descriptor);
  }
}

async function measure(path: string, options: Partial<WalkOptions> = {}) {
  const walk = { maxEntries: 100_000, mounts: () => [], ...options };
  const [tree] = await measureTrees([path], walk, new AbortController().signal);
  assert.ok(tree?.kind === "measured", JSON.stringify(tree));
  return tree.size;
}

/** Paths of the folders that this process holds open below `folder`; `undefined` for those too long to be read. */
function openFolders(): readonly (string | undefined)[] {
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`);
      return path.startsWith(`${folder}/`) ? [path] : [];
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ENAMETOOLONG" ? [undefined] : [];
    }
  });
}

test("measureTrees counts files at any depth, and beside the way down, with few folders open", async () => {
  const depth = 3_000;
  // Folders beside the way make it go back to each of those above.
  makeDeep(folder, depth, (path, at) => {
    if (at % 500 !== 0) return;
    for (const name of ["a", "z"]) {
      mkdirSync(`${path}/${name}`);
      writeFileSync(`${path}/${name}/big`, BIG);
    }
  });
  let most = 0;
  const onProgress = () => {
    most = Math.max(most, openFolders().length);
  };
  const { usedBytes, inodes, complete } = await measure(folder, { onProgress });
  assert.deepEqual([inodes, complete], [1 + depth + 4 * (depth / 500), true]);
  assert.ok(usedBytes >= 12 * MEBIBYTE, `${usedBytes} bytes`);
  assert.ok(most > 0 && most < 100, `${most} folders were open`);
  assert.deepEqual(openFolders(), []);
});

test("measureTrees does not leave its tree by a folder that is moved out of it meanwhile", async () => {
  const [tree, outside] = [`${folder}/tree`, `${folder}/outside`];
  mkdirSync(tree);
  // Names that are still to be counted where the moved folder was.
  for (const name of ["a", "z"]) {
    mkdirSync(`${outside}/${name}`, { recursive: true });
    writeFileSync(`${outside}/${name}/big`, BIG);
  }
  makeDeep(tree, 1_000, (path, at) => {
    if (at === 9) for (const name of ["a", "z"]) mkdirSync(`${path}/${name}`);
  });
  const deep = "/d".repeat(9);
  let isMoved = false;
  const onProgress = () => {
    const isDeep = openFolders().some((path) => (path?.length ?? 9_999) > 500);
    if (isMoved || !isDeep) return;
    renameSync(`${tree}${deep}/d`, `${outside}/d`);
    isMoved = true;
  };
  const { inodes, complete } = await measure(tree, { onProgress });
  assert.deepEqual([isMoved, complete], [true, false]);
  assert.equal(inodes, 1 + 1_000 + 2, "the files outside are not counted");
  assert.deepEqual(openFolders(), []);
});

for (const [kind, bytes] of [
  ["that are not UTF-8", [0x61, 0xff, 0xfe]],
  ["beyond ASCII", [...Buffer.from("größe")]],
] as const)
  test(`measureTrees counts files and folders with names ${kind}`, async () => {
    const name = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(bytes)]);
    mkdirSync(name);
    const file = Buffer.concat([name, Buffer.from("/"), Buffer.from(bytes)]);
    writeFileSync(file, BIG);
    // So many that the folder is listed one by one.
    mkdirSync(`${folder}/many`);
    for (let at = 0; at < 300; at += 1) symlinkSync("x", `${folder}/many/${"x".repeat(90)}-${at}`);
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/many/`), Buffer.from(bytes)]), BIG);
    const { usedBytes, inodes, complete } = await measure(folder);
    assert.deepEqual([inodes, complete], [1 + 2 + 1 + 300 + 1, true]);
    assert.ok(usedBytes >= 2 * MEBIBYTE, `${usedBytes} bytes`);
  });

test("measureTrees leaves out a mount whose name is beyond ASCII", async () => {
  mkdirSync(`${folder}/größe/a`, { recursive: true });
  writeFileSync(`${folder}/größe/a/big`, BIG);
  const mount = { mountPoint: `${folder}/größe/a` } as MountEntry;
  const { inodes } = await measure(folder, { mounts: () => [mount] });
  assert.equal(inodes, 2);
});

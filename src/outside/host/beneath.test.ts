import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { isOutside, type OutsideCode } from "../../kit/errors.ts";
import { mountIdOf, openBeneath, openFolder } from "./beneath.ts";

const { O_RDONLY, O_WRONLY, O_CREAT, O_TRUNC, O_DIRECTORY, O_NOFOLLOW } = constants;

let folder: string;
let root: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "beneath-"));
  root = `${folder}/root`;
  mkdirSync(`${root}/a/b`, { recursive: true });
  writeFileSync(`${root}/a/b/file`, "inside");
  writeFileSync(`${folder}/secret`, "outside");
  symlinkSync(`${folder}/secret`, `${root}/a/link`);
  symlinkSync("b", `${root}/a/near`);
  symlinkSync(folder, `${root}/a/up`);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function read(path: string, flags = O_RDONLY): Promise<string> {
  const handle = await openBeneath(root, path, flags);
  try {
    return (await handle.readFile()).toString();
  } finally {
    await handle.close();
  }
}

async function refused(path: string, code: OutsideCode, flags = O_RDONLY): Promise<void> {
  const before = openDescriptors();
  await assert.rejects(openBeneath(root, path, flags), (thrown) => {
    assert.ok(isOutside(thrown, code), `${path}: ${String(thrown)}`);
    return true;
  });
  assert.equal(openDescriptors(), before, "a descriptor stays open");
}

function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

test("openBeneath opens files and folders below the root", async () => {
  assert.equal(await read("a/b/file"), "inside");
  assert.equal(await read("./a//b/./file"), "inside");
  for (const path of ["", ".", "a/b"]) {
    const handle = await openBeneath(root, path, O_RDONLY | O_DIRECTORY);
    assert.ok((await handle.stat()).isDirectory());
    await handle.close();
  }
});

test("openBeneath follows no link, wherever it stands and wherever it leads", async () => {
  await refused("a/link", "precondition");
  await refused("a/near/file", "precondition");
  await refused("a/near", "precondition");
  await refused("a/up/secret", "precondition");
  await refused("a/link", "precondition", O_WRONLY | O_CREAT);
  await refused("a/link", "precondition", O_WRONLY | O_TRUNC);
  assert.equal(readFileSync(`${folder}/secret`, "utf8"), "outside");
});

test("openBeneath refuses paths that leave the root by their spelling", async () => {
  for (const path of ["..", "../secret", "a/../../secret", "/etc/passwd", "a\0b"]) {
    await refused(path, "invalid");
  }
});

test("openBeneath distinguishes missing from obstructed", async () => {
  await refused("a/no", "notFound");
  await refused("no/file", "notFound");
  await refused("a/b/file/deeper", "precondition");
});

test("openBeneath opens neither pipes nor devices", async () => {
  execFileSync("mkfifo", [`${root}/pipe`]);
  await refused("pipe", "precondition");
  await refused("pipe", "precondition", O_WRONLY);
});

test("openBeneath takes no file for a root, and opens with O_NOFOLLOW what is no link", async () => {
  await assert.rejects(openBeneath(`${folder}/secret`, "", O_RDONLY));
  assert.equal(await read("a/b/file", O_RDONLY | O_NOFOLLOW), "inside");
});

test("mountIdOf gives the number by which the kernel lists the mount", async () => {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const listed = mounts
    .filter((line) => line.split(" ")[4] === "/proc")
    .at(-1)
    ?.split(" ")[0];
  await using proc = await openFolder("/proc");
  assert.equal(mountIdOf(proc), Number(listed));
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { isOutside, type OutsideCode } from "../../../kit/errors.ts";
import { type BeneathOptions, openBeneath } from "./beneath.ts";

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY, O_NOFOLLOW } = constants;

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

async function read(path: string, flags = O_RDONLY, options?: BeneathOptions): Promise<string> {
  const handle = await openBeneath(root, path, flags, options);
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

test("openBeneath tells missing from obstructed", async () => {
  await refused("a/no", "notFound");
  await refused("no/file", "notFound");
  await refused("a/b/file/deeper", "precondition");
});

test("openBeneath opens neither pipes nor devices", async () => {
  execFileSync("mkfifo", [`${root}/pipe`]);
  await refused("pipe", "precondition");
  await refused("pipe", "precondition", O_WRONLY);
});

test("openBeneath creates with the mode, once with O_EXCL", async () => {
  const handle = await openBeneath(root, "a/new", O_WRONLY | O_CREAT | O_EXCL, { mode: 0o640 });
  await handle.writeFile("new");
  await handle.close();
  assert.equal(statSync(`${root}/a/new`).mode & 0o777, 0o640);
  await refused("a/new", "alreadyExists", O_WRONLY | O_CREAT | O_EXCL);
  const again = await openBeneath(root, "a/new", O_WRONLY | O_CREAT | O_TRUNC);
  await again.writeFile("x");
  await again.close();
  assert.equal(readFileSync(`${root}/a/new`, "utf8"), "x");
});

test("openBeneath with sameMount stops at a bind mount of the same disk", {
  skip: process.getuid?.() !== 0 && "needs root to mount",
}, async () => {
  mkdirSync(`${root}/mount`);
  mkdirSync(`${folder}/other`);
  writeFileSync(`${folder}/other/file`, "other");
  execFileSync("mount", ["--bind", `${folder}/other`, `${root}/mount`]);
  try {
    assert.equal(await read("mount/file"), "other");
    await assert.rejects(read("mount/file", O_RDONLY, { sameMount: true }), (thrown) =>
      isOutside(thrown, "precondition"),
    );
  } finally {
    execFileSync("umount", [`${root}/mount`]);
  }
});

test("openBeneath with sameMount stops at a file that is mounted, and nowhere else", {
  skip: process.getuid?.() !== 0 && "needs root to mount",
}, async () => {
  assert.equal(await read("a/b/file", O_RDONLY, { sameMount: true }), "inside");
  execFileSync("mount", ["--bind", `${folder}/secret`, `${root}/a/b/file`]);
  try {
    assert.equal(await read("a/b/file"), "outside");
    await assert.rejects(read("a/b/file", O_RDONLY, { sameMount: true }), (thrown) =>
      isOutside(thrown, "precondition"),
    );
  } finally {
    execFileSync("umount", [`${root}/a/b/file`]);
  }
});

test("openBeneath takes no file for a root, and opens with O_NOFOLLOW what is no link", async () => {
  await assert.rejects(openBeneath(`${folder}/secret`, "", O_RDONLY));
  assert.equal(await read("a/b/file", O_RDONLY | O_NOFOLLOW), "inside");
});

test("openBeneath creates for the owner only, and gives up where nothing can be created", async () => {
  const handle = await openBeneath(root, "a/own", O_WRONLY | O_CREAT);
  await handle.close();
  assert.equal(statSync(`${root}/a/own`).mode & 0o777, 0o600);
  await assert.rejects(openBeneath("/proc/self", "none", O_WRONLY | O_CREAT), (thrown) =>
    isOutside(thrown),
  );
});

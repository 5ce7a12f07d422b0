import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { Worker } from "node:worker_threads";
import { isOutside } from "../../../kit/errors.ts";
import { removeTree } from "./remove-tree.ts";

let folder: string;

const DEEP_NAME = "deeper".repeat(10);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remove-tree-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const notRoot = process.getuid?.() !== 0 && "needs root to mount";

test("removeTree takes names that are not UTF-8", async () => {
  mkdirSync(`${folder}/tree`);
  const name = Buffer.concat([Buffer.from(`${folder}/tree/`), Buffer.from([0xff, 0xfe, 0x41])]);
  mkdirSync(name);
  writeFileSync(Buffer.concat([name, Buffer.from("/x")]), "");
  await removeTree(`${folder}/tree`);
  assert.equal(existsSync(`${folder}/tree`), false);
});

test("removeTree takes a tree that is deeper than any path can be long", async () => {
  const start = process.cwd();
  mkdirSync(`${folder}/tree`);
  process.chdir(`${folder}/tree`);
  try {
    for (let depth = 0; depth < 150; depth += 1) {
      mkdirSync(DEEP_NAME);
      writeFileSync("file", "");
      process.chdir(DEEP_NAME);
    }
  } finally {
    process.chdir(start);
  }
  const before = openDescriptors();
  let most = 0;
  await removeTree(`${folder}/tree`, () => {
    most = Math.max(most, openDescriptors());
  });
  assert.equal(existsSync(`${folder}/tree`), false);
  assert.equal(openDescriptors(), before);
  assert.ok(most > before && most < before + 100, `${most} descriptors open at once`);
});

function openDescriptors(): number {
  return readdirSync("/proc/self/fd").length;
}

test("removeTree takes wide trees with hidden names and folders without permissions", async () => {
  mkdirSync(`${folder}/tree/.moved-up-1/x`, { recursive: true });
  mkdirSync(`${folder}/tree/closed/inner`, { recursive: true, mode: 0o000 });
  for (let i = 0; i < 500; i += 1) writeFileSync(`${folder}/tree/.moved-up-1/${i}`, "");
  await removeTree(`${folder}/tree`);
  assert.equal(existsSync(`${folder}/tree`), false);
});

for (const kind of ["tmpfs", "bind"] as const) {
  test(`removeTree touches nothing when a ${kind} mount lies beneath`, {
    skip: notRoot,
  }, async () => {
    const mount = `${folder}/tree/a/mount`;
    mkdirSync(mount, { recursive: true });
    mkdirSync(`${folder}/outside`);
    writeFileSync(`${folder}/tree/a/file`, "kept");
    const how = kind === "bind" ? ["--bind", `${folder}/outside`] : ["-t", "tmpfs", "tmpfs"];
    execFileSync("mount", [...how, mount]);
    try {
      writeFileSync(`${mount}/precious`, "kept");
      for (const path of [`${folder}/tree`, mount]) {
        await assert.rejects(removeTree(path), (thrown) => isOutside(thrown, "precondition"));
      }
      assert.equal(readFileSync(`${mount}/precious`, "utf8"), "kept");
      assert.equal(readFileSync(`${folder}/tree/a/file`, "utf8"), "kept");
    } finally {
      execFileSync("umount", [mount]);
    }
    await removeTree(`${folder}/tree`);
    assert.equal(existsSync(`${folder}/tree`), false);
  });
}

test("removeTree stays inside while folders are replaced by links", async () => {
  const outside = `${folder}/outside`;
  mkdirSync(outside);
  for (let i = 0; i < 20; i += 1) writeFileSync(`${outside}/${i}`, "precious");
  mkdirSync(`${folder}/tree`);
  const attacker = new Worker(EXCHANGES, { eval: true, workerData: { folder, outside } });
  try {
    let failures = 0;
    for (let round = 0; round < 150; round += 1) {
      quietly(() => mkdirSync(`${folder}/tree/victim/inner`, { recursive: true }));
      for (let i = 0; i < 20; i += 1) {
        quietly(() => writeFileSync(`${folder}/tree/victim/${i}`, "mine", { flag: "wx" }));
      }
      await removeTree(`${folder}/tree/victim`).catch((thrown: unknown) => {
        assert.ok(isOutside(thrown), String(thrown));
        failures += 1;
      });
    }
    for (let i = 0; i < 20; i += 1) {
      assert.equal(readFileSync(`${outside}/${i}`, "utf8"), "precious");
    }
    assert.ok(failures < 150, "every removal failed: nothing was tried");
  } finally {
    await attacker.terminate();
  }
  await removeTree(`${folder}/tree`);
  assert.equal(existsSync(`${folder}/tree`), false);
});

/** The attacker may have exchanged the folder at this very moment. */
function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // Then this round has less to remove.
  }
}

/** Swaps `victim` and `victim/inner` for links to `outside` and back, as fast as it can. */
const EXCHANGES = `
  const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
  const { folder, outside } = require("node:worker_threads").workerData;
  const quietly = (work) => { try { work(); } catch {} };
  for (;;) {
    for (const path of [folder + "/tree/victim/inner", folder + "/tree/victim"]) {
      quietly(() => renameSync(path, folder + "/tree/aside"));
      quietly(() => symlinkSync(outside, path));
      quietly(() => unlinkSync(path));
      quietly(() => renameSync(folder + "/tree/aside", path));
    }
  }
`;

test("removeTree of a link that leads to a folder leaves the folder", async () => {
  mkdirSync(`${folder}/real`);
  writeFileSync(`${folder}/real/x`, "");
  symlinkSync(`${folder}/real`, `${folder}/link`);
  await removeTree(`${folder}/link`);
  assert.equal(existsSync(`${folder}/link`), false);
  assert.equal(existsSync(`${folder}/real/x`), true);
  renameSync(`${folder}/real`, `${folder}/again`);
});

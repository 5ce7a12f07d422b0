import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { cgroupRoots } from "../../../../test/box/prerequisites.ts";
import { KeptFiles } from "./kept-files.ts";
import { readIfPresent } from "./kernel-text.ts";

test("a kept file is read again each time, and what is missing is undefined", () => {
  const folder = mkdtempSync(join(tmpdir(), "kept-"));
  try {
    const files = new KeptFiles(join);
    const path = join(folder, "value");
    const read = () => files.read(folder, "value");
    assert.equal(read(), undefined);
    writeFileSync(path, "one\n");
    assert.equal(read(), "one");
    writeFileSync(path, "another\nand more");
    assert.equal(read(), "another\nand more");
    assert.equal(files.size, 1);
    assert.equal(files.read(folder, "."), undefined, "a folder is not a file");
    assert.equal(files.size, 1);
    assert.equal(new KeptFiles(() => undefined).read(folder, "value"), undefined, "without a path");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a file is read to its end, of which the kernel gives a page at a time", () => {
  const path = "/proc/crypto";
  const expected = readFileSync(path, "utf8").replace(/\n$/, "");
  assert.ok(expected.length > 4096, `${expected.length} characters`);
  const files = new KeptFiles(join);
  for (const round of ["opened", "kept"])
    assert.equal(files.read("/proc", "crypto"), expected, round);
  assert.equal(readIfPresent(path), expected);
  assert.equal(readIfPresent("/proc/self"), undefined, "a folder is not a file");
  assert.equal(readIfPresent("/proc/none"), undefined);
});

test("a file of more than one buffer is read to its end", () => {
  const folder = mkdtempSync(join(tmpdir(), "kept-"));
  try {
    const text = "ä long line\n".repeat(30_000);
    writeFileSync(join(folder, "long"), text);
    assert.equal(readIfPresent(join(folder, "long")), text.slice(0, -1));
    const latin1 = Buffer.from(text).toString("latin1").slice(0, -1);
    assert.equal(new KeptFiles(join).read(folder, "long"), latin1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("of more files than may be held the first stay open, and the rest is read all the same", () => {
  const folder = mkdtempSync(join(tmpdir(), "kept-"));
  try {
    const files = new KeptFiles(join, 2);
    const names = ["a", "b", "c"];
    const paths = names.map((name) => join(folder, name));
    for (const path of paths) writeFileSync(path, path);
    for (let round = 0; round < 2; round += 1)
      assert.deepEqual(
        names.map((name) => files.read(folder, name)),
        paths,
      );
    assert.equal(files.size, 2);
    assert.equal(files.read(folder, "absent"), undefined);
    const open = readdirSync("/proc/self/fd").map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return "";
      }
    });
    assert.deepEqual(open.filter((path) => path.startsWith(folder)).toSorted(), paths.slice(0, 2));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const { version, paths } = cgroupRoots();
const root = version === 2 ? "/sys/fs/cgroup" : paths.find((path) => path.includes("cpuacct"));
const canMake = process.getuid?.() === 0 && root !== undefined;

test("a group that is recreated under its old name is read from its new files", {
  skip: canMake ? false : "needs root and cgroups",
}, () => {
  const files = new KeptFiles(join);
  const group = join(root ?? "", `kept-files-${process.pid}`);
  const read = () => files.read(group, "cgroup.procs");
  mkdirSync(group);
  assert.equal(read(), "");
  rmdirSync(group);
  assert.equal(read(), undefined);
  assert.equal(files.size, 0);
  mkdirSync(group);
  assert.equal(read(), "");
  rmdirSync(group);
});

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { dockerArchive, type ImageSpec, imageId, layer } from "./image-archive.ts";
import { type TarEntry, writeTar } from "./tar.ts";
import { isStaticElf, pauseProgram } from "./tiny-elf.ts";

const text = (value: string) => new TextEncoder().encode(value);

/** Lists an archive with the machine's tar. */
function list(archive: Uint8Array): string[] {
  const listing = execFileSync("tar", ["-tv", "--numeric-owner", "--full-time"], {
    input: archive,
    encoding: "utf8",
    env: { ...process.env, TZ: "UTC", LC_ALL: "C" },
  });
  return listing
    .trim()
    .split("\n")
    .map((line) => line.replace(/ +/g, " "));
}

test("`writeTar` gives what tar reads: kinds, modes, owners, long names, no times", () => {
  const long = `${"folder/".repeat(20)}file`;
  const entries: TarEntry[] = [
    { kind: "directory", path: "tmp", mode: 0o1777 },
    { kind: "file", path: "a", content: text("x".repeat(513)), uid: 1000, gid: 2000 },
    { kind: "symlink", path: "b", target: "a" },
    { kind: "file", path: long, content: text("") },
  ];
  const at = "1970-01-01 00:00:00";
  assert.deepEqual(list(writeTar(entries)), [
    `drwxrwxrwt 0/0 0 ${at} tmp/`,
    `-rw-r--r-- 1000/2000 513 ${at} a`,
    `lrwxrwxrwx 0/0 0 ${at} b -> a`,
    `-rw-r--r-- 0/0 0 ${at} ${long}`,
  ]);
});

test("`writeTar` extends ustar for what it cannot hold", () => {
  const file = (path: string): TarEntry => ({ kind: "file", path, content: text("") });
  const long = "x".repeat(101);
  const accents = `${"é".repeat(60)}/f`;
  const archive = writeTar([
    file(long),
    { ...file("a"), uid: 0o10000000, gid: 2 ** 32 - 2 },
    { kind: "symlink", path: "b", target: long },
    { kind: "directory", path: accents },
    file("last"),
  ]);
  const listed = list(archive).map((line) => line.replace(/ 1970-01-01 \S+/, ""));
  const escaped = accents.replaceAll("é", "\\303\\251");
  assert.deepEqual(listed, [
    `-rw-r--r-- 0/0 0 ${long}`,
    "-rw-r--r-- 2097152/4294967294 0 a",
    `lrwxrwxrwx 0/0 0 b -> ${long}`,
    `drwxr-xr-x 0/0 0 ${escaped}/`,
    "-rw-r--r-- 0/0 0 last",
  ]);
});

test("`dockerArchive` stores shared layers once and the same input gives the same bytes", () => {
  const shared = layer([{ kind: "file", path: "a", content: text("a") }]);
  const image = (name: string, user: string): ImageSpec => ({
    names: [name],
    config: { user, entrypoint: ["/a"], exposedPorts: ["80/tcp"] },
    layers: [shared],
  });
  const images = [image("nodelet.test/a:1", "1"), image("nodelet.test/b:1", "2")];
  const archive = dockerArchive(images, "amd64");
  const names = list(archive).map((line) => line.split(" ").at(-1) ?? "");
  assert.equal(names.filter((name) => name.endsWith(".tar")).length, 1);
  for (const each of images)
    assert.ok(names.includes(`${imageId(each, "amd64").slice("sha256:".length)}.json`));
  assert.deepEqual(dockerArchive(images, "amd64"), archive);
  assert.notEqual(
    imageId(images[0] as ImageSpec, "amd64"),
    imageId(images[1] as ImageSpec, "amd64"),
  );
  assert.notEqual(
    imageId(images[0] as ImageSpec, "amd64"),
    imageId(images[0] as ImageSpec, "arm64"),
  );
});

test("`isStaticElf` recognizes programs without a loader", () => {
  const program = pauseProgram("amd64");
  assert.ok(program && isStaticElf(program));
  assert.equal(isStaticElf(text("#!/bin/sh\n")), false);
  assert.equal(isStaticElf(readFileSync(process.execPath)), false);
  assert.equal(pauseProgram("riscv64"), undefined);
});

test("`pauseProgram` runs, leaves SIGCHLD ignored, waits, and exits by itself when it is to end", {
  skip: process.arch === "x64" && existsSync("/proc/self/status") ? false : "needs x86-64 Linux",
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "pause-"));
  const file = join(folder, "pause");
  writeFileSync(file, pauseProgram("amd64") ?? "", { mode: 0o755 });
  const child = spawn(file, { stdio: "ignore" });
  try {
    const asleep = () => {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      const ignored = BigInt(`0x${/^SigIgn:\s*(\w+)/m.exec(status)?.[1] ?? "0"}`);
      return /^State:\s*S/m.test(status) && ((ignored >> 16n) & 1n) === 1n;
    };
    for (let attempt = 0; attempt < 100 && !asleep(); attempt++)
      await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(asleep());
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    // A code, not a signal: the kernel would hide one from the first process of a container.
    assert.deepEqual(await ended, [0, null]);
  } finally {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  }
});

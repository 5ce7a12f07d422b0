import assert from "node:assert/strict";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createSystemClock } from "../../../kit/clock.ts";
import { silentLog } from "../../../kit/log.ts";
import { createFiles } from "../../../outside/host/files/files.ts";
import { checkHostPath } from "./host-path.ts";

const files = createFiles({ clock: createSystemClock(), log: silentLog });
const base = mkdtempSync(join(tmpdir(), "host-path-"));
const socket = createServer();
before(async () => {
  mkdirSync(join(base, "folder"));
  writeFileSync(join(base, "file"), "text");
  symlinkSync("file", join(base, "link"));
  symlinkSync("nowhere", join(base, "dangling"));
  await new Promise<void>((resolve) => socket.listen(join(base, "socket"), resolve));
});
after(() => {
  socket.close();
  rmSync(base, { recursive: true });
});

const at = (name: string) => (name.startsWith("/") ? name : join(base, name));
const check = (name: string, type?: string) =>
  checkHostPath(files, { path: at(name), ...(type === undefined ? {} : { type }) });

/** Name, type, what it is reported not to be, and to be; `undefined` when it fits, or is of no type. */
const CHECKS: readonly (readonly [string, string | undefined, string?, string?])[] = [
  ["none", undefined],
  ["none", ""],
  ["folder", "Directory"],
  ["folder", "DirectoryOrCreate"],
  ["file", "Directory", "directory", "File"],
  ["file", "DirectoryOrCreate", "directory", "File"],
  ["none", "Directory", "directory"],
  ["file", "File"],
  ["link", "File"],
  ["file", "FileOrCreate"],
  ["folder", "File", "file", "Directory"],
  ["folder", "FileOrCreate", "file", "Directory"],
  ["socket", "File", "file", "Socket"],
  ["none", "File", "file"],
  ["dangling", "File", "file"],
  ["socket", "Socket"],
  ["file", "Socket", "socket file", "File"],
  ["/dev/null", "CharDevice"],
  ["file", "CharDevice", "character device", "File"],
  ["/dev/null", "BlockDevice", "block device", "CharDevice"],
  ["none", "BlockDevice", "block device"],
];

for (const [name, type, expected, is] of CHECKS)
  test(`checkHostPath of ${name} as ${type}: ${expected ?? "fits"}`, async () => {
    if (expected === undefined) await check(name, type);
    else {
      const why = `unable to determine its type: path "${at(name)}" does not exist`;
      const message = is
        ? `hostPath type check failed: ${at(name)} is not a ${expected}, it's a ${is}`
        : `hostPath type check failed, ${at(name)} is not a ${expected}, ${why}`;
      await assert.rejects(check(name, type), { message });
    }
  });

test("checkHostPath knows no other types", async () => {
  const message = "Pipe is an invalid volume type";
  await assert.rejects(check("file", "Pipe"), { message });
});

test("checkHostPath makes folders with those above, and files in folders that are there", async () => {
  const mask = process.umask(0o077);
  try {
    await check("new/deep", "DirectoryOrCreate");
    await check("made", "FileOrCreate");
  } finally {
    process.umask(mask);
  }
  assert.equal(statSync(at("new/deep")).mode & 0o7777, 0o755);
  assert.equal(statSync(at("made")).mode & 0o7777, 0o644);
  await assert.rejects(check("missing/file", "FileOrCreate"), /ENOENT/);
});

test("checkHostPath truncates no file created concurrently, and replaces no link", async () => {
  const late = {
    ...files,
    facts: async () => {
      writeFileSync(at("late"), "precious");
      return undefined;
    },
  };
  await checkHostPath(late, { path: at("late"), type: "FileOrCreate" });
  assert.equal(readFileSync(at("late"), "utf8"), "precious");
  await check("dangling", "FileOrCreate").catch(() => {});
  assert.ok(lstatSync(at("dangling")).isSymbolicLink());
});

import assert from "node:assert/strict";
import {
  existsSync,
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
import { after, beforeEach, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { createSystemClock } from "../../kit/clock.ts";
import { OutsideError } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { createFiles } from "../../outside/host/files/files.ts";
import { type RotationDeps, removeLog, rotateLog } from "./rotate-log.ts";

const base = mkdtempSync(join(tmpdir(), "nodelet-rotation-"));
after(() => rmSync(base, { recursive: true }));
const clock = createSystemClock();
const files = createFiles({ clock, log: silentLog });
const { signal } = new AbortController();
const LIMITS = { maxBytes: 100, maxFiles: 3 };

let folder: string;
let path: string;
let count = 0;
beforeEach(() => {
  count += 1;
  folder = join(base, String(count));
  path = join(folder, "0.log");
  mkdirSync(folder);
});

/** Opens the file again, as the runtime does. */
function deps(reopen: () => void = () => writeFileSync(path, "")): RotationDeps {
  return { files, clock, log: silentLog, reopen: async () => reopen() };
}

const rotate = (with_: RotationDeps = deps()) =>
  rotateLog({ containerId: "c1", root: base, path }, LIMITS, with_, signal);

test("rotateLog leaves a log alone that is smaller than allowed", async () => {
  writeFileSync(path, "x".repeat(99));
  assert.equal(await rotate(), false);
  assert.deepEqual(readdirSync(folder), ["0.log"]);
});

test("rotateLog renames, zips what is older and loses no line", async () => {
  writeFileSync(join(folder, "0.log.20200101-000000"), "first\n".repeat(50));
  writeFileSync(join(folder, "0.log.20200102-000000"), "second\n".repeat(50));
  writeFileSync(path, "third\n".repeat(50));
  assert.equal(
    await rotateLog(
      { containerId: "c1", root: base, path },
      { maxBytes: 100, maxFiles: 5 },
      deps(),
      signal,
    ),
    true,
  );
  const names = readdirSync(folder).sort();
  assert.deepEqual(names.slice(0, 3), [
    "0.log",
    "0.log.20200101-000000.gz",
    "0.log.20200102-000000.gz",
  ]);
  for (const [day, line] of [
    ["01", "first\n"],
    ["02", "second\n"],
  ])
    assert.equal(
      gunzipSync(readFileSync(join(folder, `0.log.202001${day}-000000.gz`))).toString(),
      line?.repeat(50),
    );
  assert.equal(readFileSync(join(folder, names[3] ?? ""), "utf8"), "third\n".repeat(50));
});

test("rotateLog gives the name back when the runtime does not open a new file", async () => {
  writeFileSync(path, "y".repeat(200));
  const refusing = deps(() => {
    throw new OutsideError("unavailable", "runtime away");
  });
  await assert.rejects(rotate(refusing), /runtime away/);
  assert.deepEqual(readdirSync(folder), ["0.log"]);
  assert.equal(readFileSync(path, "utf8").length, 200);
});

test("rotateLog asks the runtime for a new file when the log was removed", async () => {
  assert.equal(await rotate(), false);
  assert.ok(existsSync(path));
});

test("rotateLog does not follow a link in the log's place", async () => {
  const target = join(base, "precious");
  writeFileSync(target, "z".repeat(500));
  symlinkSync(target, path);
  assert.equal(await rotate(), false);
  assert.equal(readFileSync(target, "utf8").length, 500);
});

test("rotateLog and removeLog change nothing behind a link in the place of the log's folder", async () => {
  const precious = join(base, `precious-${count}`);
  mkdirSync(precious);
  const names = ["0.log", "0.log.20200101-000000", "0.log.20200102-000000", "0.log.tmp"];
  for (const name of names) writeFileSync(join(precious, name), "z".repeat(500));
  rmSync(folder, { recursive: true });
  symlinkSync(precious, folder);
  let reopened = false;
  const watching = deps(() => {
    reopened = true;
  });
  await assert.rejects(rotate(watching), /is a link|neither a regular file nor a folder/);
  await assert.rejects(
    removeLog({ root: base, path }, files),
    /is a link|neither a regular file nor a folder/,
  );
  assert.deepEqual(readdirSync(precious), names);
  for (const name of names) assert.equal(readFileSync(join(precious, name), "utf8").length, 500);
  assert.equal(reopened, false);
  const elsewhere = { containerId: "c1", root: join(base, "logs"), path };
  await assert.rejects(rotateLog(elsewhere, LIMITS, watching, signal), /is not below/);
});

test("removeLog takes one attempt's files and no others", async () => {
  for (const name of ["0.log", "0.log.20200101-000000.gz", "1.log", "10.log"])
    writeFileSync(join(folder, name), "");
  await removeLog({ root: base, path }, files);
  assert.deepEqual(readdirSync(folder), ["1.log", "10.log"]);
  await removeLog({ root: base, path: join(base, "none", "0.log") }, files);
});

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { createSystemClock } from "../../../kit/clock.ts";
import { isOutside } from "../../../kit/errors.ts";
import { silentLog } from "../../../kit/log.ts";
import { createVolumeFiles } from "./create-volume-files.ts";
import { createFiles } from "./files.ts";

const skip = process.getuid?.() === 0 ? false : "mounting takes root";
const DISK = 256 * 1024;
const volumes = createVolumeFiles();
const files = createFiles({ clock: createSystemClock(), log: silentLog });
let disk = "";

beforeEach(async () => {
  if (skip) return;
  disk = mkdtempSync(join(tmpdir(), "full-"));
  await volumes.mountMemory(disk, { sizeBytes: DISK });
});
afterEach(async () => {
  if (skip) return;
  // One that was appended to is open for a moment.
  await files.remove(join(disk, "lines"));
  await volumes.unmount(disk);
  rmSync(disk, { recursive: true });
});

/** Leaves `bytes` of free space. */
function fill(bytes: number): void {
  writeFileSync(join(disk, "filler"), "");
  for (let size = DISK; size > 0; size -= 4096)
    try {
      writeFileSync(join(disk, "filler"), Buffer.alloc(size));
      break;
    } catch {}
  const { length } = readFileSync(join(disk, "filler"));
  writeFileSync(join(disk, "filler"), Buffer.alloc(length - bytes));
}

const free = () => rmSync(join(disk, "filler"));
const isFull = (thrown: unknown) => isOutside(thrown, "exhausted") && /ENOSPC/.test(thrown.message);
const text = (line: string, bytes: number) => `${line}\n`.repeat(bytes / (line.length + 1));

test("overwrite on a full disk leaves the old text, and writes the new one when there is space", {
  skip,
}, async () => {
  const path = join(disk, "hosts");
  const old = text("old", 4_000);
  const overwrite = (path: string, text: string) =>
    volumes.overwrite([{ path, text, mode: 0o644 }]);
  await overwrite(path, old);
  fill(8192);
  await assert.rejects(overwrite(path, text("new", 40_000)), isFull);
  assert.equal(readFileSync(path, "utf8"), old);
  await assert.rejects(overwrite(join(disk, "other"), text("new", 40_000)), isFull);
  assert.equal(readFileSync(join(disk, "other"), "utf8"), "");
  free();
  await overwrite(path, text("new", 40_000));
  assert.equal(readFileSync(path, "utf8"), text("new", 40_000));
});

test("writePayload on a full disk leaves the old files and nothing else", { skip }, async () => {
  const payload = (line: string) => [
    { path: "a", content: Buffer.from(text(line, 4_000)), mode: 0o644 },
    { path: "d/b", content: Buffer.from(text(line, 40_000)), mode: 0o644 },
  ];
  await volumes.writePayload(disk, payload("old"));
  const before = readdirSync(disk).sort();
  fill(8192);
  await assert.rejects(volumes.writePayload(disk, payload("new")), isFull);
  assert.deepEqual(
    readdirSync(disk)
      .filter((name) => name !== "filler")
      .sort(),
    before,
  );
  assert.equal(readFileSync(join(disk, "d/b"), "utf8"), text("old", 40_000));
  free();
  await volumes.writePayload(disk, payload("new"));
  assert.equal(readFileSync(join(disk, "d/b"), "utf8"), text("new", 40_000));
});

test("writeAtomic and zip on a full disk leave the old file and nothing else", {
  skip,
}, async () => {
  const path = join(disk, "f");
  await files.writeAtomic(path, "old", 0o600);
  const noise = randomBytes(60_000);
  writeFileSync(join(disk, "log"), noise);
  fill(4096);
  await assert.rejects(files.writeAtomic(path, text("new", 40_000), 0o600), isFull);
  const zip = () => files.changeBeneath(disk, "", [{ kind: "zip", name: "log" }]);
  await assert.rejects(zip(), isFull);
  assert.equal(readFileSync(path, "utf8"), "old");
  assert.deepEqual(readdirSync(disk).sort(), ["f", "filler", "log"]);
  free();
  await zip();
});

test("append on a full disk leaves the old text, whatever else is added meanwhile", {
  skip,
}, async () => {
  const path = join(disk, "lines");
  const old = text("old", 4_000);
  const long = text("new", 40_000);
  await files.append(path, old, 0o600);
  fill(8192);
  for (const sync of [false, true]) {
    await assert.rejects(files.append(path, long, 0o600, { sync }), isFull);
    assert.equal(readFileSync(path, "utf8"), old);
  }
  // The first one that fails lets the file go, and the last one is added through another open file.
  const both = [files.append(path, long, 0o600), files.append(path, long, 0o600)];
  await assert.rejects(both[0] as Promise<void>, isFull);
  const short = files.append(path, text("end", 40), 0o600);
  await assert.rejects(both[1] as Promise<void>, isFull);
  await short;
  assert.equal(readFileSync(path, "utf8"), old + text("end", 40));
  free();
  await files.append(path, long, 0o600, { sync: true });
  assert.equal(readFileSync(path, "utf8"), old + text("end", 40) + long);
});

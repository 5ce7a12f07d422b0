import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { isOutside } from "../../../kit/errors.ts";
import { openFolderBeneath } from "./open-folder.ts";

const base = mkdtempSync(join(tmpdir(), "nodelet-open-folder-"));
after(() => rmSync(base, { recursive: true }));

let root: string;
let count = 0;
beforeEach(() => {
  count += 1;
  root = join(base, String(count));
  mkdirSync(join(root, "pod", "c"), { recursive: true });
  writeFileSync(join(root, "pod/c/0.log"), "hello\n");
});

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

async function opened() {
  const folder = await openFolderBeneath(root, "pod/c");
  assert.ok(folder);
  return folder;
}

describe("openFolderBeneath", () => {
  test("lists with facts, opens and reads at offsets", async () => {
    await using folder = await opened();
    mkdirSync(join(root, "pod/c/sub"));
    symlinkSync("/etc/passwd", join(root, "pod/c/link"));
    const list = await folder.list();
    assert.deepEqual(
      list.map(({ name, kind }) => [name, kind]),
      [
        ["0.log", "file"],
        ["link", "link"],
        ["sub", "directory"],
      ],
    );
    await using file = await folder.open("0.log");
    assert.ok(file);
    assert.equal(file.id, list[0]?.id);
    assert.equal(list[0]?.sizeBytes, 6);
    assert.equal(text(await file.read(0, 100)), "hello\n");
    assert.equal(text(await file.read(2, 2)), "ll");
    assert.equal((await file.read(6, 10)).length, 0);
    appendFileSync(join(root, "pod/c/0.log"), "more");
    assert.equal(text(await file.read(6, 10)), "more");
    assert.equal(await file.sizeBytes(), 10);
  });

  test("keeps a file that is renamed or removed, and finds what came in its place", async () => {
    await using folder = await opened();
    await using file = await folder.open("0.log");
    renameSync(join(root, "pod/c/0.log"), join(root, "pod/c/0.log.1"));
    writeFileSync(join(root, "pod/c/0.log"), "new\n");
    await using again = await folder.open("0.log");
    assert.notEqual(again?.id, file?.id);
    assert.equal((await folder.list()).find(({ name }) => name === "0.log.1")?.id, file?.id);
    unlinkSync(join(root, "pod/c/0.log.1"));
    assert.equal(text((await file?.read(0, 10)) ?? new Uint8Array()), "hello\n");
  });

  test("says undefined for what is missing or no file", async () => {
    assert.equal(await openFolderBeneath(root, "pod/none"), undefined);
    await using folder = await opened();
    assert.equal(await folder.open("1.log"), undefined);
    mkdirSync(join(root, "pod/c/sub"));
    assert.equal(await folder.open("sub"), undefined);
  });

  test("follows no link: neither to a file nor on the way", async () => {
    writeFileSync(join(base, "secret"), "secret");
    symlinkSync(join(base, "secret"), join(root, "pod/c/1.log"));
    symlinkSync(base, join(root, "evil"));
    await using folder = await opened();
    const refused = (error: unknown) => isOutside(error, "precondition");
    await assert.rejects(folder.open("1.log"), refused);
    await assert.rejects(openFolderBeneath(root, "evil"), refused);
    for (const name of ["../../../secret", "/etc/passwd"])
      await assert.rejects(folder.open(name), (error) => isOutside(error, "invalid"), name);
  });

  test("unzips a large file in few portions", async () => {
    writeFileSync(join(root, "large.gz"), gzipSync(Buffer.alloc(16 * 1024 * 1024)));
    await using folder = await openFolderBeneath(root, ".");
    await using file = await folder?.open("large.gz");
    let portions = 0;
    for await (const _ of file?.unzipped() ?? []) portions += 1;
    assert.ok(portions <= 300, `${portions} portions`);
  });

  test("unzips piece by piece, and says when it cannot", async () => {
    const content = "line\n".repeat(500_000);
    writeFileSync(join(root, "pod/c/0.log.1.gz"), gzipSync(content));
    writeFileSync(join(root, "pod/c/0.log.2.gz"), gzipSync(content).subarray(0, 500));
    await using folder = await opened();
    await using whole = await folder.open("0.log.1.gz");
    let size = 0;
    let largest = 0;
    for await (const chunk of whole?.unzipped() ?? []) {
      size += chunk.length;
      largest = Math.max(largest, chunk.length);
    }
    assert.equal(size, content.length);
    assert.ok(largest <= 64 * 1024);
    for await (const chunk of whole?.unzipped() ?? []) {
      assert.ok(chunk.length > 0);
      break;
    }
    for (const name of ["0.log.2.gz", "0.log"]) {
      await using broken = await folder.open(name);
      await assert.rejects(
        async () => {
          for await (const chunk of broken?.unzipped() ?? []) assert.ok(chunk);
        },
        (error) => isOutside(error, "invalid"),
        name,
      );
    }
  });

  test("watch reports writes, new names and removals until stopped", async () => {
    await using folder = await opened();
    const reported: string[] = [];
    let notify: (() => void) | undefined;
    const stop = folder.watch((change) => {
      reported.push(change);
      notify?.();
    });
    const next = async (change: string, act: () => void) => {
      reported.length = 0;
      act();
      while (!reported.includes(change)) {
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
      }
    };
    await next("content", () => appendFileSync(join(root, "pod/c/0.log"), "x"));
    await next("names", () => renameSync(join(root, "pod/c/0.log"), join(root, "pod/c/0.log.1")));
    await next("names", () => writeFileSync(join(root, "pod/c/0.log"), "y"));
    await next("names", () => unlinkSync(join(root, "pod/c/0.log.1")));
    stop();
  });
});

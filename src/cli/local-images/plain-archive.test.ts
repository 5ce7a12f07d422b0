import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { withTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { type ArchiveSource, withPlainArchive } from "./plain-archive.ts";

const CONTENT = Buffer.from("an archive of some length. ".repeat(10_000));
const FORMS: readonly (readonly [string, (content: Buffer) => Buffer])[] = [
  ["plain", (content) => content],
  ["compressed with gzip", (content) => gzipSync(content)],
  ["compressed with zstd", (content) => zstdCompressSync(content)],
  ["shorter than a signature", () => Buffer.from("x")],
  ["empty", () => Buffer.alloc(0)],
];
const NEVER = new AbortController().signal;

/** The content that `use` reads, and the path of the copy, which must be gone afterwards. */
async function read(source: ArchiveSource): Promise<{ content: Buffer; copy: string | undefined }> {
  let file = "";
  const content = await withPlainArchive(
    source,
    async (plain) => {
      file = plain;
      return readFileSync(plain);
    },
    NEVER,
  );
  if (file === source.from) return { content, copy: undefined };
  assert.equal(existsSync(dirname(file)), false, "the copy is removed");
  return { content, copy: file };
}

for (const [what, form] of FORMS) {
  const bytes = form(CONTENT);
  const expected = bytes.length > 1 ? CONTENT : bytes;

  test(`withPlainArchive: a file that is ${what}`, () =>
    withTemporaryFolder(async (folder) => {
      const from = join(folder, "x");
      writeFileSync(from, bytes);
      const { content, copy } = await read({ from, shown: "x" });
      assert.ok(content.equals(expected));
      assert.equal(copy !== undefined, what.startsWith("compressed"));
    }));

  test(`withPlainArchive: a stream that is ${what}`, async () => {
    const { content } = await read({ from: Readable.from([bytes]), shown: "standard input" });
    assert.ok(content.equals(expected));
  });

  test(`withPlainArchive: a pipe that is ${what}`, () =>
    withTemporaryFolder(async (folder) => {
      const from = join(folder, "pipe");
      const file = join(folder, "x");
      writeFileSync(file, bytes);
      execFileSync("mkfifo", [from]);
      const writer = spawn("sh", ["-c", 'cat "$1" >"$2"', "sh", file, from]);
      const { content } = await read({ from, shown: "pipe" });
      assert.ok(content.equals(expected));
      writer.kill();
    }));
}

test("withPlainArchive says which archive is cut off", async () => {
  const cut = gzipSync(CONTENT).subarray(0, -20);
  await assert.rejects(
    read({ from: Readable.from([cut]), shown: "app.tar.gz" }),
    /^CliError: failed to unpack app\.tar\.gz: unexpected end of file$/,
  );
});

test("withPlainArchive refuses a folder", () =>
  withTemporaryFolder(async (folder) => {
    await assert.rejects(read({ from: folder, shown: folder }), /is a folder, not an archive$/);
  }));

test("withPlainArchive leaves nothing behind when it is aborted", () =>
  withTemporaryFolder(async (folder) => {
    const before = process.env["TMPDIR"];
    process.env["TMPDIR"] = folder;
    try {
      const stop = new AbortController();
      const endless = new PassThrough();
      endless.write(CONTENT);
      setImmediate(() => stop.abort(new Error("received SIGINT")));
      const source = { from: endless, shown: "standard input" };
      await assert.rejects(
        withPlainArchive(source, async () => assert.fail(), stop.signal),
        /received SIGINT/,
      );
      assert.deepEqual(execFileSync("ls", ["-A", folder], { encoding: "utf8" }), "");
    } finally {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
    }
  }));

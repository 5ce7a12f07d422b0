import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { test } from "node:test";
import { withTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { withOutputFile } from "./output-file.ts";

const text = (content: string) => (output: Writable) => pipeline(Readable.from([content]), output);

test("withOutputFile replaces a file once all is written", () =>
  withTemporaryFolder(async (folder) => {
    const file = join(folder, "x.tar");
    writeFileSync(file, "old");
    await withOutputFile(file, async (output) => {
      await text("new")(output);
      assert.equal(readFileSync(file, "utf8"), "old");
    });
    assert.equal(readFileSync(file, "utf8"), "new");
    assert.deepEqual(readdirSync(folder), ["x.tar"]);
  }));

test("withOutputFile leaves nothing of what fails, and the file as it was", () =>
  withTemporaryFolder(async (folder) => {
    const file = join(folder, "x.tar");
    writeFileSync(file, "old");
    await assert.rejects(
      withOutputFile(file, async (output) => {
        await new Promise((resolve) => output.write("half", resolve));
        throw new Error("no such image");
      }),
      /no such image/,
    );
    assert.equal(readFileSync(file, "utf8"), "old");
    assert.deepEqual(readdirSync(folder), ["x.tar"]);
  }));

test("withOutputFile follows no link that lies beside the file", () =>
  withTemporaryFolder(async (folder) => {
    const file = join(folder, "x.tar");
    const victim = join(folder, "victim");
    writeFileSync(victim, "kept");
    symlinkSync(victim, `${file}.partial`);
    await withOutputFile(file, text("new"));
    assert.equal(readFileSync(victim, "utf8"), "kept");
    assert.equal(readFileSync(file, "utf8"), "new");
  }));

test("withOutputFile writes into a pipe, which stays one", () =>
  withTemporaryFolder(async (folder) => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    // Opened for both, it waits for nobody.
    const held = openSync(pipe, "r+");
    try {
      await withOutputFile(pipe, text("through"));
      const received = Buffer.alloc(16);
      assert.equal(received.toString("utf8", 0, readSync(held, received)), "through");
    } finally {
      closeSync(held);
    }
    assert.ok(lstatSync(pipe).isFIFO());
    assert.deepEqual(readdirSync(folder), ["pipe"]);
  }));

test("withOutputFile refuses a folder", () =>
  withTemporaryFolder(async (folder) => {
    await assert.rejects(withOutputFile(folder, text("x")), /is a folder$/);
  }));

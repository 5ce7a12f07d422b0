import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { isOutside } from "../../../kit/errors.ts";
import type { FolderChange } from "../host.ts";
import { changeBeneath } from "./change-beneath.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "change-beneath-"));
  mkdirSync(join(root, "logs/folder"), { recursive: true });
  writeFileSync(join(root, "logs/0.log"), "text");
});
afterEach(() => rmSync(root, { recursive: true }));

const change = (...changes: readonly FolderChange[]) => changeBeneath(root, "logs", changes);

test("changeBeneath renames and removes, also what is gone already", async () => {
  await change({ kind: "rename", from: "0.log", to: "0.log.1" });
  assert.equal(readFileSync(join(root, "logs/0.log.1"), "utf8"), "text");
  await change({ kind: "remove", name: "0.log.1" }, { kind: "remove", name: "0.log.1" });
  assert.equal(existsSync(join(root, "logs/0.log.1")), false);
});

test("changeBeneath removes no folder, and says which name failed", async () => {
  await assert.rejects(change({ kind: "remove", name: "folder" }), /remove .*\/logs\/folder/);
  assert.ok(existsSync(join(root, "logs/folder")));
  await assert.rejects(change({ kind: "rename", from: "none", to: "0.log" }), /rename .*\/none/);
});

test("changeBeneath changes nothing below a file", async () => {
  const changes = [{ kind: "remove", name: "x" }] as const;
  await assert.rejects(changeBeneath(root, "logs/0.log", changes), (thrown) =>
    isOutside(thrown, "precondition"),
  );
});

for (const name of ["", ".", "..", "a/b", "../0.log", "a\0b"])
  test(`changeBeneath takes ${JSON.stringify(name)} for no file name`, async () => {
    for (const each of [
      { kind: "remove", name },
      { kind: "zip", name },
      { kind: "rename", from: name, to: "x" },
      { kind: "rename", from: "0.log", to: name },
    ] as const)
      await assert.rejects(change(each), (thrown) => isOutside(thrown, "invalid"));
    assert.ok(existsSync(join(root, "logs/0.log")));
  });

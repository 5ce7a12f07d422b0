import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { writeControl } from "./cgroup-folders.ts";

test("writeControl leaves nothing of a longer value in a plain file that stands in for the kernel's", () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-control-"));
  try {
    const path = join(folder, "panic");
    writeFileSync(path, "10\n");
    writeControl(path, "1");
    assert.equal(readFileSync(path, "utf8"), "1");
    assert.throws(() => writeControl(join(folder, "missing"), "1"), { code: "ENOENT" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

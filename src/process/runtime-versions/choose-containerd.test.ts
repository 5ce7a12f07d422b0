import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { findPrograms } from "../programs.ts";
import { chooseContainerd } from "./choose-containerd.ts";

/** Folders of a PATH with what the containerd in each prints. */
const VECTORS: readonly (readonly [what: string, printed: readonly string[], at: number])[] = [
  ["the only one", ["containerd c 1.6.20"], 0],
  ["the first of two old ones", ["containerd c 1.7.24", "containerd c 1.6.20"], 0],
  ["a containerd 2 behind an old one", ["containerd c 1.6.20", "containerd c/v2 v2.4.2"], 1],
  ["the first of two new ones", ["containerd c/v2 v2.1.9", "containerd c/v2 v2.4.2"], 0],
  ["one that prints no version", ["broken", "containerd c 1.7.24"], 0],
];

for (const [what, printed, at] of VECTORS)
  test(`chooseContainerd takes ${what}`, async () => {
    const base = mkdtempSync(join(tmpdir(), "nodelet-containerds-"));
    const path = process.env["PATH"];
    try {
      const folders = printed.map((text, index) => {
        const folder = join(base, String(index));
        mkdirSync(folder);
        writeFileSync(join(folder, "containerd"), `#!/bin/sh\necho '${text}'\n`);
        chmodSync(join(folder, "containerd"), 0o755);
        return folder;
      });
      // A link to what is there already is no other program.
      mkdirSync(join(base, "link"));
      symlinkSync(join(base, "0/containerd"), join(base, "link/containerd"));
      process.env["PATH"] = [join(base, "link"), ...folders].join(":");
      const ours = findPrograms("containerd").filter((each) => each.startsWith(base));
      assert.equal(ours.length, printed.length);
      const chosen = await chooseContainerd(ours);
      assert.equal(chosen?.path, join(base, at === 0 ? "link" : String(at), "containerd"));
    } finally {
      process.env["PATH"] = path;
      rmSync(base, { recursive: true });
    }
  });

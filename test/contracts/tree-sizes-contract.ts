import assert from "node:assert/strict";
import { test } from "node:test";
import type { Current } from "./host-under-test.ts";

const MEBIBYTE = 1 << 20;
const MANY = 300;

/** How every host must measure folders. */
export function treeSizesContract(at: Current) {
  test("measureTrees counts all beneath, follows no link and stops at its limit", async () => {
    const { host, folder } = at();
    const { signal } = new AbortController();
    const measure = async (path: string, maxEntries = 1000) => {
      const [tree] = await host.podFiles.measureTrees([path], { maxEntries }, signal);
      return tree?.kind === "measured" ? tree.size : undefined;
    };
    await host.files.makeDirectory(`${folder}/outside`, 0o700);
    await host.files.writeAtomic(`${folder}/outside/big`, "x".repeat(100_000), 0o600);
    await host.files.makeDirectory(`${folder}/tree/a/b`, 0o700);
    const empty = await measure(`${folder}/tree`);
    assert.deepEqual([empty?.inodes, empty?.complete], [3, true]);
    assert.equal(empty?.device, (await host.diskUsage(`${folder}/tree`))?.device);
    await host.files.writeAtomic(`${folder}/tree/a/b/f`, "x".repeat(10_000), 0o600);
    await host.files.link(`${folder}/outside`, `${folder}/tree/a/link`);
    const full = await measure(`${folder}/tree`);
    assert.equal(full?.inodes, 5);
    const grown = (full?.usedBytes ?? 0) - (empty?.usedBytes ?? 0);
    assert.ok(grown >= 10_000 && grown < 50_000, `${grown} bytes`);
    const cut = await measure(`${folder}/tree`, 2);
    assert.deepEqual([cut?.complete, (cut?.inodes ?? 9) <= 3], [false, true]);
  });

  test("measureTrees counts a folder of many entries, and stops at its limit within it", async () => {
    const { host, folder } = at();
    const { signal } = new AbortController();
    const many = `${folder}/many`;
    await host.files.makeDirectory(many, 0o700);
    // Enough for a folder that takes more than one block on any file system.
    for (let i = 0; i < MANY; i += 1)
      await host.files.link("nowhere", `${many}/${"x".repeat(100)}-${i}`);
    const measure = async (maxEntries: number) => {
      const [tree] = await host.podFiles.measureTrees([many], { maxEntries }, signal);
      return tree?.kind === "measured" ? [tree.size.inodes, tree.size.complete] : tree;
    };
    assert.deepEqual(await measure(1000), [MANY + 1, true]);
    assert.deepEqual(await measure(100), [100, false]);
  });

  test("measureTrees counts what lies deep", async () => {
    const { host, folder } = at();
    const deep = `${folder}/deep${"/d".repeat(120)}`;
    await host.files.makeDirectory(deep, 0o700);
    await host.files.writeAtomic(`${deep}/big`, "x".repeat(MEBIBYTE), 0o600);
    const { signal } = new AbortController();
    const trees = await host.podFiles.measureTrees([`${folder}/deep`], { maxEntries: 999 }, signal);
    const [tree] = trees;
    assert.ok(tree?.kind === "measured");
    assert.deepEqual([tree.size.inodes, tree.size.complete], [122, true]);
    assert.ok(tree.size.usedBytes >= MEBIBYTE, `${tree.size.usedBytes} bytes`);
  });

  test("measureTrees gives what became of each folder in order, and one that fails does so alone", async () => {
    const { host, folder } = at();
    const { signal } = new AbortController();
    await host.files.makeDirectory(`${folder}/tree/a`, 0o700);
    await host.files.writeAtomic(`${folder}/tree/f`, "x".repeat(10_000), 0o600);
    await host.files.link(`${folder}/tree/f`, `${folder}/link`);
    const paths = ["/tree", "/no", "/link", "/tree/f", "/tree/a"].map((name) => folder + name);
    const trees = await host.podFiles.measureTrees(
      [...paths, "relative"],
      { maxEntries: 1000 },
      signal,
    );
    assert.deepEqual(
      trees.map((tree) => (tree.kind === "measured" ? tree.size.inodes : tree.kind)),
      [3, "missing", "missing", 1, 1, "failed"],
    );
    const file = trees[3];
    assert.ok(file?.kind === "measured" && file.size.usedBytes >= 10_000, "a plain file by itself");
    assert.deepEqual(await host.podFiles.measureTrees([], { maxEntries: 1 }, signal), []);
  });
}

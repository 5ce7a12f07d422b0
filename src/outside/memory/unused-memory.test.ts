import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

/** A process whose heap and malloc hold far more than they need, on pages that hold something else, too. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { createHeapCompaction, createMallocTrim } from ${JSON.stringify(new URL("unused-memory.ts", import.meta.url))};
const anonymousKib = () => Number(/RssAnon:\\s+(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
const objects = Array.from({ length: 200_000 }, (_, i) => ({ i, text: "text " + i, more: [i, i + 1] }));
const kept = objects.filter(({ i }) => i % 16 === 0);
objects.length = 0;
const blocks = Array.from({ length: 4_000 }, () => Buffer.allocUnsafeSlow(8_000).fill(1));
const keptBlocks = blocks.filter((_, i) => i % 8 === 0);
blocks.length = 0;
const before = anonymousKib();
const compacted = createHeapCompaction()();
const between = anonymousKib();
const trimmed = createMallocTrim()();
const after = anonymousKib();
console.log(JSON.stringify({
  compacted, trimmed, before, between, after,
  objects: kept.every(({ i, text, more }) => text === "text " + i && more[1] === i + 1),
  blocks: keptBlocks.every((block) => block.every((byte) => byte === 1)),
  hasGc: "gc" in globalThis,
}));
`;

const EXPECTED = { compacted: true, trimmed: true, objects: true, blocks: true, hasGc: false };

test("heap and malloc give memory back that is not used, and keep what is", () => {
  const flags = ["--input-type=module", "--eval", PROGRAM];
  const env = { ...process.env, MALLOC_ARENA_MAX: "1" };
  const { stdout, stderr } = spawnSync(process.execPath, flags, { encoding: "utf8", env });
  assert.equal(stderr, "");
  const { before, between, after, ...rest } = JSON.parse(stdout);
  assert.deepEqual(rest, EXPECTED);
  const all = `${before} KiB before, ${between} KiB when the heap was compacted, ${after} KiB after`;
  assert.ok(between < before * 0.75, all);
  assert.ok(after < between * 0.75, all);
});

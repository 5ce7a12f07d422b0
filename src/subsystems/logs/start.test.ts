import assert from "node:assert/strict";
import { test } from "node:test";
import { FragmentReader } from "./fragments.ts";
import { findTail, type HeldSegment } from "./start.ts";

const TIME = "2026-01-01T00:00:00.000000001Z";
const PART_BYTES = 16 * 1024;

/** A segment in memory that counts how often it is read. */
function segmentOf(text: string): { readonly segment: HeldSegment; readonly reads: () => number } {
  const bytes = Buffer.from(text);
  let reads = 0;
  const file: HeldSegment["file"] = {
    id: "1",
    sizeBytes: async () => bytes.length,
    read: async (offset, maxBytes) => {
      reads += 1;
      return bytes.subarray(offset, offset + maxBytes);
    },
    unzipped: async function* () {
      yield bytes;
    },
    [Symbol.asyncDispose]: async () => {},
  };
  const facts = { name: "0.log", zipped: false, id: "1", modifiedMs: 0 };
  return { segment: { ...facts, sizeBytes: bytes.length, file }, reads: () => reads };
}

const MIB = 1024 * 1024;
const LONG = {
  "in the parts of a runtime": `${`${TIME} stdout P ${"x".repeat(PART_BYTES)}\n`.repeat(30 * 64)}${TIME} stdout F end\n`,
  "in one piece": `${TIME} stdout F ${"x".repeat(30 * MIB)}\n`,
};
for (const [form, line] of Object.entries(LONG))
  test(`findTail: a line of 30 MiB ${form} is passed over in few reads`, async () => {
    const before = `${TIME} stdout F a\n${TIME} stdout F b\n`;
    const { segment, reads } = segmentOf(`${before}${line}${TIME} stdout F after\n`);
    const start = await findTail([segment], 3, undefined);
    assert.deepEqual(start, { segment: 0, offset: before.length / 2, skipLines: 0 });
    assert.ok(reads() < 50, `${reads()} reads`);
  });

test("findTail: heads are read whole wherever blocks end", async () => {
  const last = `${TIME} stderr F last\n`;
  for (let padding = 0; padding < 120; padding += 1) {
    // The second line begins around the end of the first block that is read.
    const first = `${TIME} stdout F first\n`;
    const second = `${TIME} stderr P ${"x".repeat(64 * 1024 - last.length - 120 + padding)}\n`;
    const { segment } = segmentOf(`${first}${second}${last}`);
    const { offset } = await findTail([segment], 1, undefined);
    assert.equal(offset, first.length, `${padding}`);
  }
});

test("`FragmentReader` passes on a line that is too long as it comes, without copying it", () => {
  const reader = new FragmentReader();
  const portion = Buffer.from("x".repeat(PART_BYTES));
  const head = Buffer.from(`${TIME} stdout F `);
  let copied = 0;
  let bytes = 0;
  const count = (portions: Iterable<{ readonly content: Uint8Array }>) => {
    for (const { content } of portions) {
      bytes += content.length;
      if (content.buffer !== portion.buffer) copied += content.length;
    }
  };
  count(reader.read(head));
  for (let i = 0; i < 640; i += 1) count(reader.read(portion));
  count(reader.read(Buffer.from("\n")));
  assert.equal(bytes, 640 * PART_BYTES);
  assert.ok(copied <= 300 * 1024, `${copied} bytes were copied`);
});

test("`FragmentReader` takes no part of a long line that is not CRI's for a line", () => {
  const reader = new FragmentReader();
  const pushed = (text: string) =>
    [...reader.read(Buffer.from(text))].map(({ content }) => Buffer.from(content).toString());
  assert.deepEqual(pushed("x".repeat(300 * 1024)), []);
  assert.deepEqual(pushed(`${TIME} stdout F not a line\n`), []);
  assert.deepEqual(pushed(`${TIME} stdout F a line\n`), ["a line"]);
  assert.equal(reader.malformed, 1);
});

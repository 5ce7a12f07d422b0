import assert from "node:assert/strict";
import { test } from "node:test";
import { GrowingBytes } from "./growing-bytes.ts";

test("GrowingBytes holds what was added, whatever becomes of the pieces", () => {
  const bytes = new GrowingBytes();
  const whole: Buffer[] = [];
  for (const size of [0, 1, 4095, 1, 5_000, 100_000, 3]) {
    const piece = Buffer.alloc(size, size % 251);
    whole.push(Buffer.from(piece));
    bytes.add(piece);
    piece.fill(0);
  }
  const all = Buffer.concat(whole);
  assert.equal(bytes.length, all.length);
  assert.ok(bytes.take().equals(all));
  assert.deepEqual([bytes.length, bytes.take().length], [0, 0]);
  bytes.add(Buffer.from("again"));
  assert.equal(`${bytes.take()}`, "again");
});

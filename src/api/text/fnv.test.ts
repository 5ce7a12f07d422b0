import assert from "node:assert/strict";
import { test } from "node:test";
import { fnv1a32, fnv1a64Hex, fnv1a128Hex } from "./fnv.ts";

/** Published vectors of FNV-1a: input, 32, 64 and 128 bits. */
const VECTORS: readonly (readonly [string, number, string, string])[] = [
  ["", 0x811c9dc5, "cbf29ce484222325", "6c62272e07bb014262b821756295c58d"],
  ["a", 0xe40c292c, "af63dc4c8601ec8c", "d228cb696f1a8caf78912b704e4a8964"],
  ["foobar", 0xbf9cf968, "85944171f73967e8", "343e1662793c64bf6f0d3597ba446f18"],
];

test("fnv1a: published vectors", () => {
  for (const [text, bits32, bits64, bits128] of VECTORS) {
    assert.equal(fnv1a32(text), bits32, text);
    assert.equal(fnv1a64Hex(text), bits64, text);
    assert.equal(fnv1a128Hex(text), bits128, text);
  }
});

test("fnv1a64Hex, fnv1a128Hex: agree with arithmetic on big integers", () => {
  const slow = (bytes: Uint8Array, basis: bigint, prime: bigint, bits: number) => {
    let hash = basis;
    for (const byte of bytes) hash = BigInt.asUintN(bits, (hash ^ BigInt(byte)) * prime);
    return hash.toString(16).padStart(bits / 4, "0");
  };
  const bytes = Uint8Array.from({ length: 1000 }, (_, i) => (i * 7919) % 256);
  for (const length of [1, 2, 31, 1000]) {
    const part = bytes.subarray(0, length);
    assert.equal(fnv1a64Hex(part), slow(part, 0xcbf29ce484222325n, (1n << 40n) + 0x1b3n, 64));
    assert.equal(
      fnv1a128Hex(part),
      slow(part, 0x6c62272e07bb014262b821756295c58dn, (1n << 88n) + 0x13bn, 128),
    );
  }
});

test("fnv1a32: text is hashed as UTF-8", () => {
  assert.equal(fnv1a32("é"), fnv1a32(Uint8Array.of(0xc3, 0xa9)));
});

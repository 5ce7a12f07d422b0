import assert from "node:assert/strict";
import { test } from "node:test";
import { blockOf } from "../../../test/support/http2-peer.ts";
import { Http2Error } from "./frames.ts";
import { ReplyHeaderReader } from "./reply-headers.ts";

test("ReplyHeaderReader knows a block again only while the table is the same", () => {
  const reader = new ReplyHeaderReader(65_536);
  const add = (letter: number) => Buffer.from([0x88, 0x40, 1, letter, 1, 0x31]);
  const newest = Buffer.from([0x88, 0xbe]);
  const text = (block: Buffer) => JSON.stringify(reader.read(block));
  assert.match(text(add(0x61)), /"a":"1"/);
  for (const _ of [1, 2, 3]) assert.match(text(newest), /"a":"1"/);
  assert.match(text(add(0x62)), /"b":"1"/);
  for (const _ of [1, 2]) assert.match(text(newest), /\{"b":"1"\}/);
  // An empty table: the index means nothing any more.
  assert.match(text(Buffer.from([0x20, 0x88])), /"fields":\{\}/);
  assert.throws(() => text(newest), Http2Error);
});

test("ReplyHeaderReader knows many different blocks and the same ones again", () => {
  const reader = new ReplyHeaderReader(65_536);
  for (let round = 0; round < 3; round += 1)
    for (const value of ["a", "b", "c", "d", "e", "f"])
      assert.deepEqual(
        { ...(reader.read(blockOf({ value })) as { fields: object }).fields },
        { value },
      );
});

test("ReplyHeaderReader joins fields of one name, and takes any name", () => {
  const reader = new ReplyHeaderReader(65_536);
  const block = Buffer.concat([
    blockOf({ ":status": "200", a: "1" }),
    blockOf({ a: "2", ["__proto__"]: "x", constructor: "y" }),
  ]);
  const decoded = reader.read(block);
  assert.ok(decoded.kind === "headers");
  assert.equal(decoded.status, 200);
  assert.deepEqual(Object.entries(decoded.fields), [
    ["a", "1, 2"],
    ["__proto__", "x"],
    ["constructor", "y"],
  ]);
});

test("ReplyHeaderReader goes on after headers that are too long", () => {
  const reader = new ReplyHeaderReader(100);
  const tooLong = reader.read(blockOf({ ":status": "200", long: "x".repeat(100) }));
  assert.deepEqual(tooLong, { kind: "tooLong", message: "headers of more than 100 bytes" });
  assert.equal(reader.read(blockOf({ ":status": "200" })).kind, "headers");
});

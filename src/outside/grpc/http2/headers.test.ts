import assert from "node:assert/strict";
import { test } from "node:test";
import { blockOf } from "../../../../test/support/http2-peer.ts";
import { HpackDecoder } from "../hpack.ts";
import { Http2Error } from "./frames.ts";
import { ReplyHeaderReader } from "./reply-headers.ts";
import { RequestHeaderWriter } from "./request-headers.ts";

const fieldsOf = (block: Uint8Array) =>
  new HpackDecoder({ tableBytes: 0, listBytes: 65_536 })
    .decode(block)
    .map(({ name, value }) => `${Buffer.from(name)}: ${Buffer.from(value)}`);

test("RequestHeaderWriter writes what gRPC asks for, pseudo-headers first", () => {
  const writer = new RequestHeaderWriter("localhost");
  const usual = [
    ":method: POST",
    ":scheme: http",
    ":path: /a.B/C",
    ":authority: localhost",
    "te: trailers",
    "content-type: application/grpc",
    "user-agent: grpc-nodelet",
  ];
  const request = { path: "/a.B/C", timeout: undefined, fields: {} };
  assert.deepEqual(fieldsOf(writer.write(request)), usual);
  assert.deepEqual(
    fieldsOf(writer.write({ ...request, timeout: "99999999m", fields: { traceparent: "00-1" } })),
    [...usual, "grpc-timeout: 99999999m", "traceparent: 00-1"],
  );
  assert.deepEqual(fieldsOf(writer.write({ ...request, path: "/other" }))[2], ":path: /other");
});

test("RequestHeaderWriter refuses what cannot be sent", () => {
  const writer = new RequestHeaderWriter("localhost");
  const cases: readonly [Record<string, string>, RegExp][] = [
    [{ Upper: "x" }, /"Upper" that cannot be sent/],
    [{ "": "x" }, /cannot be sent/],
    [{ a: "b\r\nc: d" }, /cannot be sent/],
    [{ a: "ü" }, /cannot be sent/],
    [{ a: " b" }, /cannot be sent/],
    [{ a: "x".repeat(9_000) }, /more than 8192/],
  ];
  for (const [fields, message] of cases)
    assert.throws(() => writer.write({ path: "/x", timeout: undefined, fields }), message);
});

test("RequestHeaderWriter keeps the headers of so many methods only", () => {
  const writer = new RequestHeaderWriter("localhost");
  for (let method = 0; method < 300; method += 1) {
    const path = `/x/${method}`;
    assert.equal(fieldsOf(writer.write({ path, timeout: "1m", fields: {} }))[2], `:path: ${path}`);
  }
});

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

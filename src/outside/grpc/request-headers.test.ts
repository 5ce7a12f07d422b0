import assert from "node:assert/strict";
import { test } from "node:test";
import { HpackDecoder } from "../http2/hpack.ts";
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

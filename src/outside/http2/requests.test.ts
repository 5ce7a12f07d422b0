// Requests of any kind, and what a client says beside them (RFC 9113, 4.3, 6.7, 6.8 and 8.1).
import assert from "node:assert/strict";
import { test } from "node:test";
import { blockOf, DONE, Http2Peer, OK } from "../../../test/support/http2-peer.ts";
import { frame } from "./frames.ts";
import { HpackDecoder } from "./hpack.ts";
import { fieldBlock, staticField, textBytes, writeText } from "./request-fields.ts";

const MAX_FRAME_SIZE = 5;
const NO_BODY = Buffer.alloc(0);

test("a request without a body ends with its headers", () => {
  const peer = Http2Peer.ready();
  const { events, stream } = peer.open(NO_BODY);
  assert.deepEqual(peer.saidBriefly(), ["1 5 1 5"]);
  peer.send(peer.headers(1, OK), peer.data(1, "x", true));
  assert.deepEqual(events, ["data x", 'end 200 {"content-type":"application/grpc"}']);
  peer.connection.cancel(stream);
  assert.deepEqual(peer.said(), [], "a stream that is over is not reset");
});

test("headers longer than a frame go on in CONTINUATION, with and without a body", () => {
  const long = blockOf({ a: "x".repeat(40_000) });
  const peer = Http2Peer.ready();
  peer.open(NO_BODY, long);
  peer.open(Buffer.from("body"), long);
  const said = peer.said();
  assert.deepEqual(
    said.map(({ type, flags, streamId }) => [type, flags, streamId]),
    [
      [1, 1, 1],
      [9, 0, 1],
      [9, 4, 1],
      [1, 0, 3],
      [9, 0, 3],
      [9, 4, 3],
      [0, 1, 3],
    ],
  );
  const block = Buffer.concat(said.slice(0, 3).map(({ payload }) => payload));
  assert.ok(block.equals(long));
});

test("a block as long as a frame is one frame", () => {
  const peer = Http2Peer.ready({ [MAX_FRAME_SIZE]: 20_000 });
  for (const bytes of [20_000, 20_001]) peer.open(NO_BODY, Buffer.alloc(bytes, 0x82));
  assert.deepEqual(peer.saidBriefly(), ["1 5 1 20000", "1 1 3 20000", "9 4 3 1"]);
});

test("the beginning of an answer is reported before its data, and data whether it is the last", () => {
  const peer = Http2Peer.ready();
  const reported: string[] = [];
  peer.connection.open(blockOf({ a: "b" }), NO_BODY, {
    headers: ({ status, headers }) => reported.push(`${status} ${headers["content-type"]}`),
    data: (piece, isLast) => reported.push(`${piece} ${isLast}`),
    end: () => reported.push("end"),
    reset: () => reported.push("reset"),
  });
  peer.send(peer.headers(1, { ":status": "103" }), peer.headers(1, OK));
  assert.deepEqual(reported.splice(0), ["200 application/grpc"]);
  peer.send(peer.data(1, "one"), peer.data(1, "two", true));
  assert.deepEqual(reported, ["one false", "two true", "end"]);
});

test("a receiver may cancel its stream while it receives headers or data", () => {
  for (const last of [true, false]) {
    const peer = Http2Peer.ready();
    const reported: string[] = [];
    const leave = () => peer.connection.cancel(stream);
    const stream = peer.connection.open(blockOf({ a: "b" }), NO_BODY, {
      headers: last ? leave : () => {},
      data: leave,
      end: () => reported.push("end"),
      reset: () => reported.push("reset"),
    });
    peer.send(peer.headers(1, OK, last), ...(last ? [] : [peer.data(1, "x", true)]));
    assert.deepEqual([reported, peer.notices], [[], ["ready", "idle"]]);
    assert.equal(peer.said().at(-1)?.type, 3);
  }
});

test("only the answer to our PING is reported", () => {
  const peer = Http2Peer.ready();
  peer.connection.ping();
  const [ping, ...others] = peer.said();
  assert.deepEqual([ping?.type, ping?.flags, ping?.streamId, others.length], [6, 0, 0, 0]);
  peer.send(frame(6, 1, 0, Buffer.alloc(8)), frame(6, 0, 0, ping?.payload));
  assert.deepEqual(peer.notices, ["ready"]);
  peer.send(frame(6, 1, 0, ping?.payload));
  assert.deepEqual(peer.notices, ["ready", "pong"]);
});

test("announceEnd sends GOAWAY without an error, and nothing once the connection is over", () => {
  const peer = Http2Peer.ready();
  peer.open();
  peer.said();
  peer.connection.announceEnd();
  const [goAway] = peer.said();
  assert.deepEqual([goAway?.type, goAway?.payload], [7, Buffer.alloc(8)]);
  assert.equal(peer.connection.streams, 1);
  peer.connection.abandon();
  peer.connection.announceEnd();
  assert.deepEqual([peer.said(), peer.connection.streams], [[], 0]);
});

test("streams are those that are open and those that wait, as many as the server allows", () => {
  const peer = new Http2Peer();
  assert.equal(peer.connection.maxStreams, Number.POSITIVE_INFINITY);
  peer.send(frame(4, 0, 0, Buffer.from([0, 3, 0, 0, 0, 1])));
  for (const _ of [1, 2, 3]) peer.open(NO_BODY);
  assert.deepEqual([peer.connection.maxStreams, peer.connection.streams], [1, 3]);
  peer.send(peer.headers(1, { ...OK, ...DONE }, true));
  assert.equal(peer.connection.streams, 2);
});

const decoded = (block: Uint8Array) =>
  new HpackDecoder({ tableBytes: 0, listBytes: 2 ** 20 })
    .decode(block)
    .map(({ name, value, neverIndexed }) => [
      `${Buffer.from(name)}`,
      `${Buffer.from(value)}`,
      neverIndexed,
    ]);

test("fieldBlock writes texts of any length, in UTF-8, and marks secrets", () => {
  for (const length of [0, 1, 126, 127, 128, 254, 255, 20_000]) {
    const value = "x".repeat(length);
    assert.deepEqual(decoded(fieldBlock({ a: value })), [["a", value, false]]);
    const text = Buffer.alloc(textBytes(value));
    assert.equal(writeText(text, 0, value), text.length);
    assert.deepEqual(decoded(Buffer.concat([Buffer.from([0x04]), text])), [
      [":path", value, false],
    ]);
  }
  assert.deepEqual(decoded(fieldBlock({ "impersonate-user": "jürgen\t✓" })), [
    ["impersonate-user", "jürgen\t✓", false],
  ]);
  assert.deepEqual(decoded(fieldBlock({ a: "b" }, { isSecret: true })), [["a", "b", true]]);
  assert.equal(fieldBlock({}).length, 0);
});

test("staticField takes what stands in the table", () => {
  assert.deepEqual(staticField(":method", "GET"), Buffer.from([0x82]));
  assert.deepEqual(decoded(staticField(":scheme", "https")), [[":scheme", "https", false]]);
  assert.deepEqual(decoded(staticField(":method", "PATCH")), [[":method", "PATCH", false]]);
});

test("fieldBlock refuses what would be another field, and does not repeat the value", () => {
  const values = ["b\r\nc: d", "b\n", "b\0c", "b\x7f", " b", "b ", "\tb"];
  for (const value of values)
    assert.throws(
      () => fieldBlock({ a: value }),
      (error) =>
        error instanceof RangeError && error.message === 'a header "a" that cannot be sent',
      JSON.stringify(value),
    );
  for (const name of ["Upper", "", "a b", "a:b", "a\n"])
    assert.throws(() => fieldBlock({ [name]: "b" }), RangeError, JSON.stringify(name));
  assert.throws(() => fieldBlock({ a: "ü" }, { onlyAscii: true }), RangeError);
});

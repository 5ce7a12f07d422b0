// Windows of both sides, and how many streams there may be (RFC 9113, 5.1.2, 5.2 and 6.9).
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  blockOf,
  DONE,
  Http2Peer,
  OK,
  settingsOf,
  word,
} from "../../../test/support/http2-peer.ts";
import { frame } from "./frames.ts";

const MAX_CONCURRENT_STREAMS = 3;
const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;
const HEADER_TABLE_SIZE = 1;

const windowUpdate = (streamId: number, bytes: number) => frame(8, 0, streamId, word(bytes));
const body = (bytes: number) => Buffer.alloc(bytes, 97);

test("a request waits for the window of its stream", () => {
  const peer = Http2Peer.ready({ [INITIAL_WINDOW_SIZE]: 10 });
  peer.open(body(25));
  assert.deepEqual(peer.saidBriefly(), ["1 4 1 5", "0 0 1 10"]);
  peer.send(windowUpdate(0, 100));
  assert.deepEqual(peer.saidBriefly(), []);
  peer.send(windowUpdate(1, 10));
  assert.deepEqual(peer.saidBriefly(), ["0 0 1 10"]);
  peer.send(windowUpdate(1, 10));
  assert.deepEqual(peer.saidBriefly(), ["0 1 1 5"]);
});

test("a window of no bytes lets headers through", () => {
  const peer = Http2Peer.ready({ [INITIAL_WINDOW_SIZE]: 0 });
  peer.open(body(3));
  assert.deepEqual(peer.saidBriefly(), ["1 4 1 5"]);
  peer.send(windowUpdate(1, 3));
  assert.deepEqual(peer.saidBriefly(), ["0 1 1 3"]);
});

test("requests share the window of the connection, the first one first", () => {
  const peer = Http2Peer.ready({ [INITIAL_WINDOW_SIZE]: 100_000 });
  peer.open(body(60_000));
  peer.open(body(10_000));
  const sent = () =>
    peer
      .said()
      .filter(({ type }) => type === 0)
      .map(({ streamId, flags, payload }) => [streamId, flags, payload.length]);
  assert.deepEqual(sent(), [
    [1, 0, 16_384],
    [1, 0, 16_384],
    [1, 0, 16_384],
    [1, 1, 10_848],
    [3, 0, 5_535],
  ]);
  peer.send(windowUpdate(0, 5_000));
  assert.deepEqual(sent(), [[3, 1, 4_465]]);
});

test("frames are as large as the server takes them", () => {
  const peer = Http2Peer.ready({ [MAX_FRAME_SIZE]: 20_000 });
  peer.open(body(45_000));
  assert.deepEqual(peer.saidBriefly().slice(1), ["0 0 1 20000", "0 0 1 20000", "0 1 1 5000"]);
});

test("another initial window holds for open streams too, also when that makes it less than nothing", () => {
  const peer = Http2Peer.ready({ [INITIAL_WINDOW_SIZE]: 10 });
  peer.open(body(30));
  peer.said();
  peer.send(settingsOf({ [INITIAL_WINDOW_SIZE]: 5 }));
  assert.deepEqual(peer.saidBriefly(), ["4 1 0 0"]);
  peer.send(windowUpdate(1, 5));
  assert.deepEqual(peer.saidBriefly(), [], "5 bytes were owed");
  peer.send(settingsOf({ [INITIAL_WINDOW_SIZE]: 25 }));
  assert.deepEqual(peer.saidBriefly(), ["4 1 0 0", "0 1 1 20"]);
});

test("streams wait until the server allows more of them, and may be cancelled until then", () => {
  const peer = Http2Peer.ready({ [MAX_CONCURRENT_STREAMS]: 1 });
  const [first, second, third] = [peer.open(), peer.open(), peer.open()];
  assert.deepEqual(peer.saidBriefly(), ["1 4 1 5", "0 1 1 4"]);
  peer.connection.cancel(second.stream);
  assert.deepEqual(peer.saidBriefly(), [], "nobody was notified of it");
  peer.send(peer.headers(1, { ...OK, ...DONE }, true));
  assert.match(first.events.join(), /^end 200/);
  assert.deepEqual(peer.saidBriefly(), ["1 4 3 5", "0 1 3 4"]);
  const fourth = peer.open();
  peer.send(settingsOf({ [MAX_CONCURRENT_STREAMS]: 5 }));
  assert.deepEqual(peer.saidBriefly(), ["4 1 0 0", "1 4 5 5", "0 1 5 4"]);
  peer.send(peer.headers(3, { ...OK, ...DONE }, true), peer.headers(5, { ...OK, ...DONE }, true));
  assert.match(`${third.events}${fourth.events}`, /^end 200 .*end 200/);
  assert.deepEqual(second.events, []);
  assert.deepEqual(peer.notices, ["ready", "idle"]);
});

test("a server that answers before it has the whole request gets no more of it", () => {
  const peer = Http2Peer.ready({ [INITIAL_WINDOW_SIZE]: 10 });
  const { events } = peer.open(body(30));
  peer.said();
  peer.send(peer.headers(1, { ...OK, "grpc-status": "8" }, true), windowUpdate(1, 100));
  assert.match(events.join(), /^end 200/);
  assert.deepEqual(peer.saidBriefly(), ["3 0 1 4"]);
});

test("windows are given back in halves", () => {
  const peer = Http2Peer.ready({}, { connectionWindowBytes: 100_000, streamWindowBytes: 1_000 });
  const { events } = peer.open();
  peer.said();
  peer.send(peer.headers(1, OK), peer.data(1, body(499)));
  assert.deepEqual(peer.saidBriefly(), []);
  peer.send(peer.data(1, body(1)));
  assert.equal(peer.said()[0]?.payload.readUInt32BE(), 500);
  for (let sent = 500; sent < 49_000; sent += 500) peer.send(peer.data(1, body(500)));
  assert.ok(peer.said().every(({ streamId }) => streamId === 1));
  peer.send(peer.data(1, body(500)), peer.data(1, body(500)));
  assert.deepEqual(
    peer.said().map(({ streamId, payload }) => [streamId, payload.readUInt32BE()]),
    [
      [1, 500],
      [0, 50_000],
      [1, 500],
    ],
  );
  peer.send(peer.data(1, body(500), true));
  assert.deepEqual(peer.said(), [], "what has ended needs no window");
  assert.match(events.at(-1) ?? "", /^end/);
});

test("padding counts, and comes back", () => {
  const peer = Http2Peer.ready({}, { streamWindowBytes: 1_000 });
  const { events } = peer.open();
  peer.said();
  const padded = frame(0, 8, 1, Buffer.concat([Buffer.from([249]), Buffer.alloc(249)]));
  peer.send(peer.headers(1, OK), padded, padded);
  assert.deepEqual(peer.saidBriefly(), ["8 0 1 4"]);
  assert.deepEqual(events, []);
});

test("a stream that is paused gets no window until it goes on, the others do", () => {
  const peer = Http2Peer.ready({}, { connectionWindowBytes: 65_535, streamWindowBytes: 40_000 });
  const [slow, quick] = [peer.open(), peer.open()];
  peer.connection.pause(slow.stream);
  peer.said();
  peer.send(peer.headers(1, OK), peer.headers(3, OK));
  for (let sent = 0; sent < 40_000; sent += 10_000)
    peer.send(peer.data(1, body(10_000)), peer.data(3, body(10_000)));
  const credited = peer
    .said()
    .map(({ streamId, payload }) => [streamId, payload.readUInt32BE()] as const);
  assert.ok(credited.every(([streamId]) => streamId !== 1));
  assert.ok(credited.some(([streamId]) => streamId === 0));
  assert.ok(credited.some(([streamId]) => streamId === 3));
  peer.connection.resume(slow.stream);
  assert.equal(peer.said()[0]?.payload.readUInt32BE(), 40_000);
  assert.deepEqual([slow.bytes(), quick.bytes()], [40_000, 40_000]);
});

test("more data than a window allows ends the stream, or the connection", () => {
  const peer = Http2Peer.ready({}, { connectionWindowBytes: 65_535, streamWindowBytes: 1_000 });
  const { events, stream } = peer.open();
  peer.connection.pause(stream);
  peer.send(peer.headers(1, OK), peer.data(1, body(1_001)));
  assert.deepEqual(events, ["reset 3 FLOW_CONTROL_ERROR: more than 1000 bytes of data"]);
  const other = Http2Peer.ready({}, { connectionWindowBytes: 1_000 });
  other.open();
  assert.throws(() => other.send(other.data(1, body(1_001))), /FLOW_CONTROL_ERROR/);
});

test("data for streams that are over is given back to the connection", () => {
  const peer = Http2Peer.ready({}, { connectionWindowBytes: 70_000 });
  const { stream } = peer.open();
  peer.connection.cancel(stream);
  peer.said();
  for (let sent = 0; sent < 1_000_000; sent += 10_000) peer.send(peer.data(1, body(10_000)));
  const credited = peer.said().reduce((sum, { payload }) => sum + payload.readUInt32BE(), 0);
  assert.ok(credited > 930_000);
});

test("a server that makes its table smaller is informed that ours is empty, once", () => {
  const peer = Http2Peer.ready({ [HEADER_TABLE_SIZE]: 100 });
  const block = Buffer.from(blockOf({ a: "b" }));
  peer.open();
  assert.deepEqual(peer.said()[0]?.payload, Buffer.concat([Buffer.from([0x20]), block]));
  peer.open();
  assert.deepEqual(peer.said()[0]?.payload, block);
  peer.send(settingsOf({ [HEADER_TABLE_SIZE]: 5_000 }));
  peer.said();
  peer.open();
  assert.deepEqual(peer.said()[0]?.payload, block);
});

test("a connection that is abandoned sends nothing more, and receives nothing", () => {
  const peer = Http2Peer.ready({ [MAX_CONCURRENT_STREAMS]: 1 });
  const [first, second] = [peer.open(), peer.open()];
  peer.said();
  assert.deepEqual(peer.connection.abandon(), [first.stream, second.stream]);
  peer.connection.cancel(first.stream);
  peer.connection.resume(second.stream);
  peer.send(peer.headers(1, { ...OK, ...DONE }, true), settingsOf({}));
  assert.deepEqual([peer.said(), first.events, second.events], [[], [], []]);
  assert.deepEqual(peer.notices, ["ready"]);
});

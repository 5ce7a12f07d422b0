// What the server may and may not say (RFC 9113), against a scripted server.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  blockOf,
  DONE,
  Http2Peer,
  OK,
  settingsOf,
  word,
} from "../../../test/support/http2-peer.ts";
import { frame, Http2Error } from "./frames.ts";

const ping = (bytes = 8, flags = 0, streamId = 0) =>
  frame(6, flags, streamId, Buffer.alloc(bytes, 7));
const goAway = (last: number, code = 0) => frame(7, 0, 0, Buffer.concat([word(last), word(code)]));
const reset = (streamId: number, code: number) => frame(3, 0, streamId, word(code));
const windowUpdate = (streamId: number, bytes: number) => frame(8, 0, streamId, word(bytes));

test("a connection begins with the preface, SETTINGS and a larger window", () => {
  const peer = new Http2Peer();
  const [settings, window, ...others] = peer.said();
  assert.equal(others.length, 0);
  assert.equal(settings?.payload.toString("hex"), "000200000000" + "000400100000" + "000600010000");
  assert.equal(window?.payload.readUInt32BE(), 4 * 1024 * 1024 - 65_535);
  assert.deepEqual(peer.notices, []);
});

test("a request is HEADERS and DATA, and its answer is reported", () => {
  const peer = Http2Peer.ready();
  assert.deepEqual(peer.notices, ["ready"]);
  const { events } = peer.open(Buffer.from("body"), blockOf({ ":path": "/x" }));
  const [head, body] = peer.said();
  assert.deepEqual([head?.type, head?.flags, head?.streamId], [1, 4, 1]);
  assert.deepEqual(peer.fieldsOf(head?.payload ?? Buffer.alloc(0)), [":path: /x"]);
  assert.deepEqual([body?.type, body?.flags, `${body?.payload}`], [0, 1, "body"]);
  peer.send(
    peer.headers(1, OK),
    peer.data(1, "one"),
    peer.data(1, "two"),
    peer.headers(1, DONE, true),
  );
  assert.deepEqual(events, [
    "data onetwo",
    'end 200 {"content-type":"application/grpc","grpc-status":"0"}',
  ]);
  assert.deepEqual(peer.notices, ["ready", "idle"]);
  assert.deepEqual(peer.said(), []);
});

test("answers may have interim headers, headers only, and no trailers", () => {
  const peer = Http2Peer.ready();
  const [first, second] = [peer.open(), peer.open()];
  peer.send(
    peer.headers(1, { ":status": "103", link: "x" }),
    peer.headers(3, { ...OK, "grpc-status": "5" }, true),
    peer.headers(1, OK),
    peer.data(1, "x", true),
  );
  assert.deepEqual(first.events, ["data x", 'end 200 {"content-type":"application/grpc"}']);
  assert.deepEqual(second.events, [
    'end 200 {"content-type":"application/grpc","grpc-status":"5"}',
  ]);
});

test("padding, priorities, PRIORITY and unknown frames are taken off", () => {
  const peer = Http2Peer.ready();
  const { events } = peer.open();
  const block = Buffer.from(blockOf(OK));
  peer.send(
    frame(2, 0, 1, Buffer.alloc(5)),
    frame(0xbe, 0xff, 77, Buffer.from("unknown")),
    frame(
      1,
      4 | 8 | 32,
      1,
      Buffer.concat([Buffer.from([3]), Buffer.alloc(5), block, Buffer.alloc(3)]),
    ),
    frame(0, 8, 1, Buffer.from([2, 0x61, 0, 0])),
    frame(0, 8 | 1, 1, Buffer.from([0])),
  );
  assert.deepEqual(events, ["data a", 'end 200 {"content-type":"application/grpc"}']);
});

test("a header block may come in many frames", () => {
  const peer = Http2Peer.ready();
  const { events } = peer.open();
  const block = Buffer.from(blockOf({ ...OK, long: "x".repeat(500) }));
  peer.send(frame(1, 1, 1, block.subarray(0, 3)));
  for (let at = 3; at < block.length; at += 100)
    peer.send(frame(9, at + 100 >= block.length ? 4 : 0, 1, block.subarray(at, at + 100)));
  assert.match(events.join(), /^end 200 .*x{500}"}$/);
});

test("PING and SETTINGS are answered, their answers are not", () => {
  const peer = Http2Peer.ready();
  peer.send(ping(), ping(8, 1), settingsOf({ 3: 10, 99: 5 }), frame(4, 1, 0));
  const [pong, ack, ...others] = peer.said();
  assert.deepEqual([pong?.type, pong?.flags, pong?.payload], [6, 1, Buffer.alloc(8, 7)]);
  assert.deepEqual([ack?.type, ack?.flags, ack?.payload.length], [4, 1, 0]);
  assert.equal(others.length, 0);
});

/** Each breaks a rule for the connection while stream 1 is open. */
const BROKEN: Readonly<Record<string, readonly [code: number, ...frames: Buffer[]]>> = {
  "DATA of no stream": [1, frame(0, 0, 0)],
  "DATA of a stream never opened": [1, frame(0, 0, 3)],
  "DATA of a stream of the server": [1, frame(0, 0, 2)],
  "padding as long as its frame": [1, frame(0, 8, 1, Buffer.from([1]))],
  "padding without its length": [1, frame(0, 8, 1)],
  "HEADERS of no stream": [1, frame(1, 4, 0)],
  "HEADERS without their priority": [1, frame(1, 4 | 32, 1, Buffer.alloc(4))],
  "headers that cannot be decoded": [9, frame(1, 4, 1, Buffer.from([0x80]))],
  "CONTINUATION without HEADERS": [1, frame(9, 4, 1)],
  "a frame within a header block": [1, frame(1, 0, 1), ping()],
  "CONTINUATION of another stream": [1, frame(1, 0, 1), frame(9, 4, 3)],
  "RST_STREAM of no stream": [1, reset(0, 8)],
  "RST_STREAM of a stream never opened": [1, reset(3, 8)],
  "RST_STREAM of another length": [6, frame(3, 0, 1, Buffer.alloc(3))],
  "SETTINGS of a stream": [1, frame(4, 0, 1)],
  "SETTINGS of another length": [6, frame(4, 0, 0, Buffer.alloc(5))],
  "an ACK that is not empty": [6, frame(4, 1, 0, Buffer.alloc(6))],
  "a server that pushes": [1, settingsOf({ 2: 1 })],
  "an initial window that is too large": [3, settingsOf({ 4: 2 ** 31 })],
  "frames that are too small": [1, settingsOf({ 5: 16_383 })],
  "frames that are too large": [1, settingsOf({ 5: 2 ** 24 })],
  "an initial window that makes an open one too large": [
    3,
    windowUpdate(1, 100),
    settingsOf({ 4: 2 ** 31 - 1 }),
  ],
  PUSH_PROMISE: [1, frame(5, 4, 1, Buffer.alloc(4))],
  "PING of a stream": [1, ping(8, 0, 1)],
  "PING of another length": [6, ping(7)],
  "GOAWAY of a stream": [1, frame(7, 0, 1, Buffer.alloc(8))],
  "GOAWAY of another length": [6, frame(7, 0, 0, Buffer.alloc(7))],
  "WINDOW_UPDATE of another length": [6, frame(8, 0, 0, Buffer.alloc(5))],
  "WINDOW_UPDATE of nothing": [1, windowUpdate(0, 0)],
  "WINDOW_UPDATE of a stream never opened": [1, windowUpdate(3, 1)],
  "a window of the connection that is too large": [3, windowUpdate(0, 2 ** 31 - 1)],
};

for (const [name, [code, ...frames]] of Object.entries(BROKEN)) {
  test(`the connection ends with GOAWAY: ${name}`, () => {
    const peer = Http2Peer.ready();
    peer.open();
    peer.said();
    assert.throws(
      () => peer.send(...frames),
      (error) => error instanceof Http2Error && error.code === code,
    );
    const last = peer.said().at(-1);
    assert.deepEqual([last?.type, last?.streamId, last?.payload.readUInt32BE(4)], [7, 0, code]);
  });
}

test("a server that does not begin with SETTINGS is refused", () => {
  for (const first of [ping(), frame(4, 1, 0), frame(0xbe, 0, 0)])
    assert.throws(() => new Http2Peer().send(first), Http2Error);
  assert.throws(
    () => new Http2Peer().send(Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")),
    Http2Error,
  );
});

/** Each breaks a rule for stream 1 only, which is reset with this code. */
const MALFORMED: Readonly<
  Record<string, readonly [code: number, (peer: Http2Peer) => readonly Buffer[]]>
> = {
  "data before headers": [1, (peer) => [peer.data(1, "x")]],
  "headers without a status": [1, (peer) => [peer.headers(1, { a: "b" })]],
  "a status that is none": [1, (peer) => [peer.headers(1, { ":status": "2000" })]],
  "a status after other fields": [1, (peer) => [peer.headers(1, { a: "b", ":status": "200" })]],
  "pseudo-headers of requests": [
    1,
    (peer) => [peer.headers(1, { ":status": "200", ":path": "/" })],
  ],
  "a name in upper case": [1, (peer) => [peer.headers(1, { ":status": "200", Upper: "x" })]],
  "a line break in a value": [1, (peer) => [peer.headers(1, { ":status": "200", a: "x\r\ny" })]],
  "a field of a connection": [
    1,
    (peer) => [peer.headers(1, { ":status": "200", connection: "close" })],
  ],
  "interim headers as the end": [1, (peer) => [peer.headers(1, { ":status": "100" }, true)]],
  "headers twice": [1, (peer) => [peer.headers(1, OK), peer.headers(1, OK, true)]],
  "trailers that are not the end": [1, (peer) => [peer.headers(1, OK), peer.headers(1, DONE)]],
  "WINDOW_UPDATE of nothing": [1, () => [windowUpdate(1, 0)]],
  "a window that is too large": [3, () => [windowUpdate(1, 2 ** 31 - 1)]],
  "headers of more than 65536 bytes": [
    11,
    (peer) => {
      const block = Buffer.from(blockOf({ ...OK, long: "x".repeat(66_000) }));
      const frames = [frame(1, 0, 1, block.subarray(0, 16_000))];
      for (let at = 16_000; at < block.length; at += 16_000)
        frames.push(
          frame(9, at + 16_000 < block.length ? 0 : 4, 1, block.subarray(at, at + 16_000)),
        );
      assert.ok(peer);
      return frames;
    },
  ],
};

for (const [name, [code, frames]] of Object.entries(MALFORMED)) {
  test(`one stream is reset, the others go on: ${name}`, () => {
    const peer = Http2Peer.ready();
    const [first, second] = [peer.open(), peer.open()];
    peer.said();
    peer.send(...frames(peer), peer.headers(3, OK), peer.headers(3, DONE, true));
    assert.match(first.events.join(), new RegExp(`^reset ${code} [A-Z_]+: `));
    assert.match(second.events.join(), /^end 200/);
    const [answer] = peer.said();
    assert.deepEqual(
      [answer?.type, answer?.streamId, answer?.payload.readUInt32BE()],
      [3, 1, code],
    );
  });
}

test("a header block of endless frames ends the connection, also when they are empty", () => {
  for (const part of [Buffer.alloc(16_000, 0x82), Buffer.alloc(0)]) {
    const peer = Http2Peer.ready();
    peer.open();
    peer.send(frame(1, 0, 1));
    assert.throws(() => {
      for (let frames = 0; frames < 100_000; frames += 1) peer.send(frame(9, 0, 1, part));
    }, /ENHANCE_YOUR_CALM: a header block of more than 131072 bytes/);
  }
});

test("a server that asks and does not read what it is sent is left", () => {
  const peer = Http2Peer.ready();
  peer.send(...Array.from({ length: 20_000 }, () => ping()));
  peer.isReading = false;
  assert.throws(
    () => peer.send(...Array.from({ length: 20_000 }, () => ping())),
    /more than 262144 bytes of answers to frames are not read/,
  );
});

test("what comes for streams that are over is ignored, but its headers are decoded", () => {
  const peer = Http2Peer.ready();
  const [first, second, third] = [peer.open(), peer.open(), peer.open()];
  peer.connection.cancel(first.stream);
  assert.equal(peer.said().at(-1)?.payload.readUInt32BE(), 8);
  peer.send(
    // With incremental indexing: the next block refers to it.
    frame(1, 4, 1, Buffer.from([0x88, 0x40, 1, 0x61, 1, 0x62])),
    peer.data(1, "late"),
    windowUpdate(1, 1),
    reset(1, 0),
    frame(1, 4 | 1, 3, Buffer.from([0x88, 0xbe])),
    reset(5, 7),
  );
  assert.deepEqual(first.events, []);
  assert.deepEqual(second.events, ['end 200 {"a":"b"}']);
  assert.deepEqual(third.events, [
    "reset 7 stream terminated by RST_STREAM with error code: REFUSED_STREAM",
  ]);
  assert.deepEqual(peer.notices, ["ready", "idle"]);
});

test("after GOAWAY streams up to the last one go on, later ones may be tried again", () => {
  const peer = Http2Peer.ready({ 3: 2 });
  const [first, second, third] = [peer.open(), peer.open(), peer.open()];
  peer.send(goAway(2 ** 31 - 1), ping(), goAway(1));
  assert.deepEqual(first.events, []);
  assert.match(second.events.join(), /^reset 7 /);
  assert.match(third.events.join(), /^reset 7 /, "was never opened");
  assert.deepEqual(peer.notices, ["ready", "leaving"]);
  peer.send(peer.headers(1, { ...OK, ...DONE }, true));
  assert.match(first.events.join(), /^end 200/);
  assert.deepEqual(peer.notices, ["ready", "leaving", "idle"]);
});

test("GOAWAY on a quiet connection lets it end", () => {
  const peer = Http2Peer.ready();
  peer.send(goAway(0));
  assert.deepEqual(peer.notices, ["ready", "leaving", "idle"]);
});

test("a connection whose identifiers run out takes its last stream and no more", () => {
  const peer = Http2Peer.ready({}, { firstStreamId: 2 ** 31 - 3 });
  const last = peer.open();
  assert.deepEqual(peer.notices, ["ready"]);
  const beyond = peer.open();
  assert.deepEqual(peer.notices, ["ready", "leaving"]);
  assert.equal(beyond.stream.id, 2 ** 31 - 1);
  peer.send(peer.headers(2 ** 31 - 1, { ...OK, ...DONE }, true));
  peer.send(peer.headers(2 ** 31 - 3, { ...OK, ...DONE }, true));
  assert.match(`${last.events}${beyond.events}`, /^end 200 .*end 200/);
  assert.deepEqual(peer.notices, ["ready", "leaving", "idle"]);
});

/** A conversation with everything in it: headers in parts, a table that is used, padding, pings, two streams. */
function conversation(peer: Http2Peer): Buffer {
  return Buffer.concat([
    settingsOf({ 3: 100, 4: 70_000 }),
    frame(1, 0, 1, Buffer.from([0x88, 0x40, 1, 0x61])),
    frame(9, 4, 1, Buffer.from([1, 0x62])),
    frame(0, 8, 1, Buffer.from([3, ...Buffer.from("first"), 0, 0, 0])),
    frame(1, 4, 3, Buffer.from([0x88, 0xbe])),
    ping(),
    peer.data(3, "x".repeat(20_000).slice(0, 16_384)),
    frame(0xbe, 0, 0, Buffer.from("what")),
    peer.data(1, "second"),
    windowUpdate(0, 1000),
    peer.headers(1, DONE, true),
    reset(3, 2),
    goAway(3),
  ]);
}

test("a conversation means the same however its bytes are cut", () => {
  const hold = (cuts: readonly number[]) => {
    const peer = new Http2Peer();
    peer.send(settingsOf({}));
    const streams = [peer.open(), peer.open()];
    const bytes = conversation(peer);
    let at = 0;
    for (const cut of cuts) {
      peer.send(bytes.subarray(at, at + cut));
      at += cut;
    }
    peer.send(bytes.subarray(at));
    return [streams.map(({ events }) => events), peer.notices, peer.saidBriefly()];
  };
  const whole = hold([]);
  assert.deepEqual(whole[1], ["ready", "idle", "leaving", "idle"]);
  const length = conversation(new Http2Peer()).length;
  for (let cut = 1; cut < 120; cut += 1) assert.deepEqual(hold([cut]), whole);
  assert.deepEqual(hold(Array.from({ length }, () => 1)), whole, "byte by byte");
  fc.assert(
    fc.property(fc.array(fc.nat(3_000), { maxLength: 60 }), (cuts) =>
      assert.deepEqual(hold(cuts), whole),
    ),
  );
});

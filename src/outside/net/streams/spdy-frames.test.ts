import assert from "node:assert/strict";
import { test } from "node:test";
import { constants, inflateSync } from "node:zlib";
import fc from "fast-check";
import { encodeData, encodePing, encodeSynStream, SpdyDecoder } from "./spdy-frames.ts";

/** Words of the dictionary of SPDY/3 (draft-mbelshe-httpbis-spdy-00, 2.6.10.1), each behind its length. */
const WORDS =
  `options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges
age allow authorization cache-control connection content-base content-encoding content-language content-length
content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since
if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate
proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning
www-authenticate method get status`.split(/\s+/);
const MORE = ["200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive"];
const TAIL =
  "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505" +
  "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized" +
  "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable" +
  "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT" +
  "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain," +
  "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

const prefixed = (word: string) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(word.length);
  return Buffer.concat([length, Buffer.from(word)]);
};
const DICTIONARY = Buffer.concat([
  ...[...WORDS, ...MORE, "origin"].map(prefixed),
  Buffer.from(TAIL),
]);

function adler32(bytes: Uint8Array): number {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return b * 65_536 + a;
}

/** The header blocks of a connection's frames as a server of SPDY inflates them. */
function headersOf(frames: readonly Uint8Array[]): Record<string, string>[] {
  const stream = Buffer.concat(frames.map((frame) => frame.subarray(18)));
  const options = { dictionary: DICTIONARY, finishFlush: constants.Z_SYNC_FLUSH };
  const plain = inflateSync(stream, options);
  const blocks: Record<string, string>[] = [];
  let at = 0;
  const word = () => {
    const length = plain.readUInt32BE(at);
    at += 4 + length;
    return plain.toString("utf8", at - length, at);
  };
  while (at < plain.length) {
    const pairs = plain.readUInt32BE(at);
    at += 4;
    blocks.push(Object.fromEntries(Array.from({ length: pairs }, () => [word(), word()])));
  }
  return blocks;
}

test("the dictionary is the one that the header blocks name", () => {
  assert.equal(adler32(DICTIONARY), 0xe3_c6_a7_c2);
});

test("encodeSynStream: the frame, byte by byte", () => {
  assert.equal(
    Buffer.from(encodeSynStream(1, { a: "bc" }, true)).toString("hex"),
    [
      "8003000100000029", // SYN_STREAM of version 3, 41 bytes
      "00000001000000000000", // stream 1, associated with none, priority 0
      "7820e3c6a7c2", // zlib, its dictionary
      "000f00f0ff", // a stored block of 15 bytes
      "00000001" + "0000000161" + "000000026263",
      "000000ffff", // an empty one: flushed
    ].join(""),
  );
  const second = Buffer.from(encodeSynStream(3, { a: "bc" }, false)).toString("hex");
  assert.equal(second.slice(0, 36), "800300010000002300000003000000000000");
  assert.equal(second.slice(36, 46), "000f00f0ff", "zlib's head comes once only");
});

test("encodeSynStream: a server inflates every header block of a connection", () => {
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(fc.stringMatching(/^[a-z-]{1,12}$/), fc.string()), { minLength: 1 }),
      (all) => {
        const frames = all.map((headers, i) => encodeSynStream(2 * i + 1, headers, i === 0));
        assert.deepEqual(
          headersOf(frames),
          all.map((headers) => ({ ...headers })),
        );
        for (const frame of frames)
          assert.equal(Buffer.from(frame).readUIntBE(5, 3), frame.length - 8);
      },
    ),
    { numRuns: 50 },
  );
  assert.throws(() => encodeSynStream(1, { a: "x".repeat(70_000) }, true), /too long/);
});

const control = (type: number, flags: number, content: readonly number[]) =>
  Buffer.from([0x80, 3, 0, type, flags, 0, 0, content.length, ...content]);

/** Frames as they come, with the parts of each stream's data joined. */
function decoded(chunks: readonly Uint8Array[]): unknown[] {
  const decoder = new SpdyDecoder();
  const all: unknown[] = [];
  let data: { streamId: number; bytes: Buffer; last: boolean } | undefined;
  const flush = () => {
    if (data) all.push(["data", data.streamId, data.bytes.toString("hex"), data.last]);
    data = undefined;
  };
  for (const frame of chunks.flatMap((chunk) => decoder.push(chunk))) {
    if (frame.kind === "data") {
      if (data && (data.streamId !== frame.streamId || data.last)) flush();
      const bytes = Buffer.concat([data?.bytes ?? Buffer.alloc(0), frame.bytes]);
      data = { streamId: frame.streamId, bytes, last: frame.last };
    } else {
      flush();
      all.push(Object.values(frame));
    }
  }
  flush();
  return all;
}

const frames: readonly (readonly [string, Uint8Array, readonly unknown[]])[] = [
  ["reply", control(2, 0, [0, 0, 0, 5, 0x78, 0xbb]), [["reply", 5, false]]],
  ["reply and end", control(2, 1, [0, 0, 0, 5]), [["reply", 5, true]]],
  ["reset", control(3, 0, [0, 0, 0, 7, 0, 0, 0, 5]), [["reset", 7, 5]]],
  ["settings", control(4, 0, [0, 0, 0, 0]), []],
  ["settings without content", control(4, 0, []), []],
  ["ping", encodePing(258), [["ping", 258]]],
  ["go away", control(7, 0, [0, 0, 0, 9, 0, 0, 0, 0]), [["goAway"]]],
  ["headers", control(8, 0, [0, 0, 0, 3]), []],
  ["headers at the end", control(8, 1, [0, 0, 0, 3]), [["data", 3, "", true]]],
  ["window", control(9, 0, [0, 0, 0, 3, 0, 0, 1, 0]), []],
  ["a stream of the server", control(1, 0, [0, 0, 0, 2, 0, 0, 0, 0, 0, 0]), []],
  ["an unknown type", control(77, 0, [1]), []],
  ["data", Buffer.concat(encodeData(3, Buffer.from("abc"), false)), [["data", 3, "616263", false]]],
  ["last data", Buffer.concat(encodeData(3, Buffer.from("a"), true)), [["data", 3, "61", true]]],
  ["the end alone", Buffer.concat(encodeData(1, Buffer.alloc(0), true)), [["data", 1, "", true]]],
];
for (const [name, bytes, expected] of frames)
  test(`SpdyDecoder: ${name}`, () => {
    assert.deepEqual(decoded([bytes]), expected);
    assert.deepEqual(decoded([...bytes].map((byte) => Uint8Array.of(byte))), expected, "by bytes");
  });

test("SpdyDecoder: frames are the same however they are cut", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: frames.length - 1 }), { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }),
      (chosen, sizes) => {
        const whole = Buffer.concat(chosen.map((i) => frames[i]?.[1] ?? new Uint8Array(0)));
        const parts: Buffer[] = [];
        for (let at = 0, i = 0; at < whole.length; i += 1) {
          const size = sizes[i % sizes.length] ?? 1;
          parts.push(whole.subarray(at, at + size));
          at += size;
        }
        assert.deepEqual(decoded(parts), decoded([whole]));
      },
    ),
  );
});

test("encodeData: much is cut into frames, and nothing is lost", () => {
  const much = Buffer.alloc(100_000, "0123456789");
  const cut = encodeData(9, much, true);
  assert.equal(cut.length, 4);
  assert.deepEqual(decoded(cut), [["data", 9, much.toString("hex"), true]]);
  assert.deepEqual(encodeData(9, Buffer.alloc(0), false), []);
});

const broken: readonly (readonly [string, Uint8Array, RegExp])[] = [
  ["another version", Buffer.from([0x80, 2, 0, 6, 0, 0, 0, 4, 0, 0, 0, 1]), /version 2/],
  ["a control frame too long", Buffer.from([0x80, 3, 0, 4, 0, 0xff, 0, 0]), /16711680 bytes/],
  ["a reset too short", control(3, 0, [0, 0, 0, 7]), /type 3 with 4 bytes/],
  ["a ping without content", control(6, 0, []), /type 6 with 0 bytes/],
];
for (const [name, bytes, why] of broken)
  test(`SpdyDecoder: ${name} ends the reading`, () => {
    const decoder = new SpdyDecoder();
    const [frame, ...others] = decoder.push(bytes);
    assert.deepEqual(others, []);
    assert.ok(frame?.kind === "invalid");
    assert.match(frame.why, why);
    assert.deepEqual(decoder.push(encodePing(1)), []);
  });

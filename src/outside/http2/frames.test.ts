import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  FRAME_HEAD_BYTES,
  frame,
  Http2Error,
  Http2FrameReader,
  Http2FrameWriter,
  nameOfCode,
} from "./frames.ts";

const read = (pieces: readonly Buffer[]) => {
  const seen: string[] = [];
  const reader = new Http2FrameReader({
    frame: (type, flags, streamId, payload) =>
      void seen.push(`${type} ${flags} ${streamId} ${Buffer.from(payload).toString("hex")}`),
  });
  for (const piece of pieces) reader.push(piece);
  return seen;
};

test("frame writes what RFC 9113 draws: length, type, flags, stream, payload", () => {
  const cases: readonly [Buffer, string][] = [
    [frame(4, 1, 0), "000000040100000000"],
    [frame(0, 1, 5, Buffer.from("ab")), "0000020001000000056162"],
    [frame(8, 0, 0x7fff_ffff, Buffer.from([0, 0, 0, 1])), "00000408007fffffff00000001"],
    [frame(0, 0, 1, Buffer.alloc(16_384)).subarray(0, FRAME_HEAD_BYTES), "004000000000000001"],
  ];
  for (const [bytes, hex] of cases) assert.equal(bytes.toString("hex"), hex);
});

test("Http2FrameWriter puts frames one after the other", () => {
  const writer = new Http2FrameWriter(2 * FRAME_HEAD_BYTES + 3);
  writer.add(1, 4, 1, Buffer.from("a")).add(0, 1, 1, Buffer.from("bc"));
  assert.deepEqual(read([writer.bytes]), ["1 4 1 61", "0 1 1 6263"]);
});

test("Http2FrameReader ignores the reserved bit of the stream", () => {
  assert.deepEqual(read([Buffer.from("000000000080000003", "hex")]), ["0 0 3 "]);
});

test("Http2FrameReader refuses a frame longer than 16384 bytes by its header alone, whole or in pieces", () => {
  const head = frame(0, 0, 1, Buffer.alloc(16_385)).subarray(0, FRAME_HEAD_BYTES);
  for (const pieces of [[head], [head.subarray(0, 2), head.subarray(2)]])
    assert.throws(
      () => read(pieces),
      (error) => error instanceof Http2Error && error.code === 6 && /16385/.test(error.message),
    );
});

test("Http2FrameReader finds the same frames however the bytes are cut", () => {
  const part = fc.record({
    type: fc.nat(12),
    flags: fc.nat(255),
    streamId: fc.nat(0x7fff_ffff),
    payload: fc.uint8Array({ maxLength: 60 }),
  });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.array(fc.nat(40)), (parts, cuts) => {
      const bytes = Buffer.concat(
        parts.map(({ type, flags, streamId, payload }) => frame(type, flags, streamId, payload)),
      );
      const pieces: Buffer[] = [];
      let at = 0;
      for (const cut of cuts) {
        pieces.push(Buffer.from(bytes.subarray(at, at + cut)));
        at += cut;
      }
      pieces.push(bytes.subarray(at));
      assert.deepEqual(
        read(pieces),
        parts.map(
          ({ type, flags, streamId, payload }) =>
            `${type} ${flags} ${streamId} ${Buffer.from(payload).toString("hex")}`,
        ),
      );
    }),
  );
});

test("nameOfCode has the names of RFC 9113, and a number for others", () => {
  assert.deepEqual([0, 7, 8, 11, 13, 14].map(nameOfCode), [
    "NO_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "ENHANCE_YOUR_CALM",
    "HTTP_1_1_REQUIRED",
    "unknown error code 0xe",
  ]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Http2Error } from "../http2/frames.ts";
import { ascii, encodeHeaders, HpackDecoder, HpackError } from "../http2/hpack.ts";
import { RequestRepair } from "./request-repair.ts";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

type Fields = readonly (readonly [string, string])[];

function block(fields: Fields): Uint8Array {
  return encodeHeaders(
    fields.map(([name, value]) => ({
      name: ascii(name),
      value: ascii(value),
      neverIndexed: false,
    })),
  );
}

function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(streamId, 5);
  return Buffer.concat([header, payload]);
}

const request = (authority: string): Fields => [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/v1beta1.Registration/Register"],
  [":authority", authority],
  ["content-type", "application/grpc"],
];

interface SeenFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

function framesOf(bytes: Buffer): readonly SeenFrame[] {
  const frames: SeenFrame[] = [];
  for (let at = PREFACE.length; at < bytes.length; ) {
    const length = bytes.readUIntBE(at, 3);
    frames.push({
      type: bytes[at + 3] ?? 0,
      flags: bytes[at + 4] ?? 0,
      streamId: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + 9, at + 9 + length),
    });
    at += 9 + length;
  }
  return frames;
}

/** Output of a repair that gets the bytes in pieces of the given sizes. */
function repaired(bytes: Buffer, pieces: readonly number[] = []): Buffer {
  const repair = new RequestRepair();
  const out: Uint8Array[] = [];
  let at = 0;
  for (const size of pieces) {
    out.push(...repair.push(bytes.subarray(at, at + size)));
    at += size;
  }
  if (at < bytes.length) out.push(...repair.push(bytes.subarray(at)));
  return Buffer.concat(out);
}

function headersOf(frames: readonly SeenFrame[]): Record<string, string> {
  const decoder = new HpackDecoder({ tableBytes: 4096, listBytes: 1_000_000 });
  const payload = Buffer.concat(
    frames.filter(({ type }) => type === 1 || type === 9).map((seen) => seen.payload),
  );
  return Object.fromEntries(
    decoder
      .decode(payload)
      .map(({ name, value }) => [`${Buffer.from(name)}`, `${Buffer.from(value)}`]),
  );
}

const AUTHORITIES: Readonly<Record<string, string>> = {
  "/var/lib/kubelet/device-plugins/kubelet.sock": "localhost",
  "%2Fvar%2Flib%2Fkubelet%2Fdevice-plugins%2Fkubelet.sock":
    "%2Fvar%2Flib%2Fkubelet%2Fdevice-plugins%2Fkubelet.sock",
  "unix:///var/lib/kubelet/device-plugins/kubelet.sock": "localhost",
  "": "localhost",
  localhost: "localhost",
  "example.com:80": "example.com:80",
  "[::1]:8080": "[::1]:8080",
};

for (const [sent, expected] of Object.entries(AUTHORITIES)) {
  test(`RequestRepair makes the authority "${sent}" "${expected}" and leaves the rest`, () => {
    const data = frame(0, 1, 1, Buffer.from("body"));
    const bytes = Buffer.concat([
      PREFACE,
      frame(4, 0, 0, Buffer.alloc(0)),
      frame(1, 4, 1, block(request(sent))),
      data,
    ]);
    const out = repaired(bytes);
    assert.deepEqual(out.subarray(0, PREFACE.length), PREFACE);
    const frames = framesOf(out);
    assert.deepEqual(
      frames.map(({ type, flags, streamId }) => [type, flags, streamId]),
      [
        [4, 0, 0],
        [1, 4, 1],
        [0, 1, 1],
      ],
    );
    assert.deepEqual(
      headersOf(frames),
      Object.fromEntries([
        ...request(sent).filter(([n]) => n !== ":authority"),
        [":authority", expected],
      ]),
    );
    assert.equal(String(frames[2]?.payload), "body");
  });
}

test("RequestRepair gives a request without authority one, and trailers none", () => {
  const bare = request("x").filter(([name]) => name !== ":authority");
  const opened = framesOf(repaired(Buffer.concat([PREFACE, frame(1, 4, 1, block(bare))])));
  assert.equal(headersOf(opened)[":authority"], "localhost");
  const trailers = framesOf(
    repaired(Buffer.concat([PREFACE, frame(1, 5, 1, block([["x", "y"]]))])),
  );
  assert.deepEqual(headersOf(trailers), { x: "y" });
  assert.equal(trailers[0]?.flags, 5);
});

test("RequestRepair takes padding and priority off", () => {
  const payload = Buffer.concat([
    Buffer.from([3]),
    Buffer.alloc(5),
    block(request("/p")),
    Buffer.alloc(3),
  ]);
  const frames = framesOf(repaired(Buffer.concat([PREFACE, frame(1, 4 | 8 | 32, 5, payload)])));
  assert.equal(frames[0]?.flags, 4);
  assert.equal(headersOf(frames)[":authority"], "localhost");
});

test("RequestRepair joins a block of several frames and splits one that is too long", () => {
  const long = block([...request("/p"), ["long", "x".repeat(40_000)]]);
  const parts = [
    long.subarray(0, 10),
    long.subarray(10, 16_000),
    long.subarray(16_000, 30_000),
    long.subarray(30_000),
  ];
  const bytes = Buffer.concat([
    PREFACE,
    ...parts.map((part, i) =>
      frame(i === 0 ? 1 : 9, i === parts.length - 1 ? 4 : i === 0 ? 1 : 0, 7, part),
    ),
  ]);
  const frames = framesOf(repaired(bytes));
  assert.deepEqual(
    frames.map(({ type, flags, streamId }) => [type, flags, streamId]),
    [
      [1, 1, 7],
      [9, 0, 7],
      [9, 4, 7],
    ],
  );
  assert.equal(headersOf(frames)["long"]?.length, 40_000);
  assert.equal(headersOf(frames)[":authority"], "localhost");
});

test("RequestRepair does the same however the bytes are cut", () => {
  const bytes = Buffer.concat([
    PREFACE,
    frame(4, 0, 0, Buffer.alloc(6)),
    frame(1, 4, 1, block(request("/a"))),
    frame(0, 1, 1, Buffer.alloc(300, 1)),
    frame(1, 0, 3, block(request("/b")).subarray(0, 20)),
    frame(9, 4, 3, block(request("/b")).subarray(20)),
    frame(0, 1, 3, Buffer.alloc(0)),
  ]);
  const whole = repaired(bytes);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 60 }), (pieces) => {
      assert.deepEqual(repaired(bytes, pieces), whole);
    }),
  );
});

test("RequestRepair passes on what is no HTTP/2, for the server to refuse", () => {
  const text = Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  assert.deepEqual(repaired(text), text);
  assert.deepEqual(repaired(text, [1, 2]), text);
  const almost = Buffer.from("PRI * HTTP/1.1\r\n\r\n");
  assert.deepEqual(repaired(almost, [4, 4, 4]), almost);
});

const isRefusal = (error: unknown) => error instanceof HpackError || error instanceof Http2Error;

const HOSTILE: Readonly<Record<string, readonly Buffer[]>> = {
  "a header frame longer than allowed": [frame(1, 4, 1, Buffer.alloc(16_385))],
  "CONTINUATION without HEADERS": [frame(9, 4, 1, Buffer.alloc(0))],
  "another stream's continuation": [
    frame(1, 0, 1, Buffer.alloc(0)),
    frame(9, 4, 3, Buffer.alloc(0)),
  ],
  "data within a header block": [frame(1, 0, 1, Buffer.alloc(0)), frame(0, 0, 1, Buffer.alloc(0))],
  "more padding than frame": [frame(1, 4 | 8, 1, Buffer.from([200, 0x82]))],
  "a compression that makes no sense": [frame(1, 4, 1, Buffer.from([0xff]))],
  "continuations without end": [
    frame(1, 0, 1, Buffer.alloc(0)),
    ...Array.from({ length: 8000 }, () => frame(9, 0, 1, Buffer.alloc(0))),
  ],
};

for (const [name, frames] of Object.entries(HOSTILE)) {
  test(`RequestRepair refuses ${name}`, () => {
    assert.throws(() => repaired(Buffer.concat([PREFACE, ...frames])), isRefusal);
  });
}

test("RequestRepair ends with bytes or a refusal whatever it is given", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 8 }), (chunks) => {
      const repair = new RequestRepair();
      try {
        for (const chunk of [PREFACE, ...chunks]) repair.push(chunk);
      } catch (error) {
        assert.ok(isRefusal(error));
      }
    }),
    { numRuns: 1000 },
  );
});

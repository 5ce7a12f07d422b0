import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCodePoint } from "../../../test/support/any-text.ts";
import { type HttpReply, MAX_HEAD_BYTES, ReplyReader } from "./http-reply.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Feeds `raw` in pieces that end at `cuts`, then closes. */
function read(raw: string, cuts: readonly number[] = [], maxBodyBytes = 10): HttpReply {
  const reader = new ReplyReader(maxBodyBytes);
  const bytes = bytesOf(raw);
  const ends = [...new Set([...cuts.filter((cut) => cut < bytes.length), bytes.length])];
  let from = 0;
  for (const to of ends.sort((a, b) => a - b)) {
    const reply = reader.push(bytes.subarray(from, to));
    if (reply) return reply;
    from = to;
  }
  return reader.end();
}

interface Vector {
  readonly raw: string;
  readonly status: number;
  readonly body: string;
  readonly complete?: false;
  readonly location?: string;
}

const H = "HTTP/1.1 200 OK\r\n";
const ANSWERS: Readonly<Record<string, Vector>> = {
  "a length": { raw: `${H}Content-Length: 2\r\n\r\nhi`, status: 200, body: "hi" },
  "a length of zero": { raw: `${H}content-length:0\r\n\r\n`, status: 200, body: "" },
  "the length given twice": {
    raw: `${H}Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi`,
    status: 200,
    body: "hi",
  },
  "a body until the end": { raw: `${H}\r\nhello`, status: 200, body: "hello" },
  "bare line feeds": { raw: "HTTP/1.0 404 no\nA: b\n\nx", status: 404, body: "x" },
  "no reason": { raw: "HTTP/1.1 204 \r\n\r\n", status: 204, body: "" },
  "a status without a body": {
    raw: "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
    status: 304,
    body: "",
  },
  "chunks with extensions": {
    raw: `${H}Transfer-Encoding: Chunked\r\n\r\n2;x=y\r\nhi\r\nA \r\n1234567890\r\n0\r\n\r\n`,
    status: 200,
    body: "hi12345678",
    complete: false,
  },
  "chunks to their end": {
    raw: `${H}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nTrailer: x\r\n\r\n`,
    status: 200,
    body: "hi",
  },
  "chunked wins over a length": {
    raw: `${H}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    status: 200,
    body: "hi",
  },
  "a body just as long as the limit": {
    raw: `${H}Content-Length: 10\r\n\r\n1234567890`,
    status: 200,
    body: "1234567890",
  },
  "a body longer than the limit": {
    raw: `${H}Content-Length: 999\r\n\r\n${"1234567890".repeat(3)}`,
    status: 200,
    body: "1234567890",
    complete: false,
  },
  "an endless body at its limit": {
    raw: `${H}\r\n1234567890`,
    status: 200,
    body: "1234567890",
    complete: false,
  },
  "a location": {
    raw: "HTTP/1.1 302 Found\r\nLocation:  /next \r\nLOCATION: /other\r\nContent-Length: 0\r\n\r\n",
    status: 302,
    body: "",
    location: "/next",
  },
  "provisional answers first": {
    raw: `HTTP/1.1 103 Early Hints\r\nLocation: /no\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${H}Content-Length: 1\r\n\r\nx`,
    status: 200,
    body: "x",
  },
  "another protocol": { raw: "HTTP/1.1 101 Switching\r\n\r\nbytes", status: 101, body: "" },
  "a continued header": {
    raw: `${H}X-Long: a\r\n  b\r\nContent-Length: 1\r\n\r\nx`,
    status: 200,
    body: "x",
  },
};

for (const [name, vector] of Object.entries(ANSWERS)) {
  test(`ReplyReader reads ${name}, however the bytes are cut`, () => {
    const { raw } = vector;
    fc.assert(
      fc.property(fc.array(fc.nat(raw.length)), (cuts) => {
        const reply = read(raw, cuts);
        assert.equal(reply.status, vector.status);
        assert.equal(textOf(reply.body), vector.body);
        assert.equal(reply.location, vector.location);
        assert.equal(reply.complete, vector.complete ?? true);
      }),
      { numRuns: 50 },
    );
  });
}

const REFUSED: readonly (readonly [raw: string, message: RegExp])[] = [
  ["", /^EOF$/],
  ["HTTP/1.1 200", /^net\/http: HTTP\/1.x transport connection broken: unexpected EOF$/],
  [`${H}Content-Length: 5\r\n\r\nhi`, /^unexpected EOF$/],
  [`${H}Transfer-Encoding: chunked\r\n\r\n5\r\nhi`, /^unexpected EOF$/],
  ["SSH-2.0-OpenSSH_9.2\r\n", /: malformed HTTP response "SSH-2.0-OpenSSH_9.2"$/],
  ['\x15\x03\x01\0"\n', /: malformed HTTP response "\\x15\\x03\\x01\\x00\\""$/],
  ["HTTP/1.1 2x0 OK\r\n", /: malformed HTTP status code "2x0"$/],
  ["HTTPS 200 OK\r\n", /: malformed HTTP version "HTTPS"$/],
  [`${H}no colon\r\n\r\n`, /: malformed MIME header line: no colon$/],
  [`${H}Content-Length: -1\r\n\r\n`, /: bad Content-Length "-1"$/],
  [`${H}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, /multiple Content-Length/],
  [`${H}Transfer-Encoding: gzip\r\n\r\n`, /: unsupported transfer encoding: "gzip"$/],
  [`${H}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, /^invalid byte in chunk length$/],
  [`${H}Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n`, /^malformed chunked encoding$/],
  [
    `${H}X: ${"y".repeat(MAX_HEAD_BYTES)}\r\n\r\n`,
    /^net\/http: server response headers exceeded 262144 bytes/,
  ],
  [
    H + "A: b\r\n".repeat(MAX_HEAD_BYTES / 6),
    /^net\/http: server response headers exceeded 262144 bytes/,
  ],
  ["HTTP/1.1 100 Continue\r\n\r\n".repeat(MAX_HEAD_BYTES / 25 + 1), /headers exceeded/],
];

for (const [raw, message] of REFUSED) {
  test(`ReplyReader refuses ${JSON.stringify(raw.slice(0, 60))}`, () => {
    assert.throws(() => read(raw), { name: "MalformedReply", message });
    assert.throws(() => read(raw, [1, 17, 30, 31]), { name: "MalformedReply", message });
  });
}

test("ReplyReader never throws anything but MalformedReply, whatever the bytes", () => {
  const piece = fc.oneof(
    fc.constantFrom(H, "\r\n", "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "1\r\n"),
    fc.string({ unit: anyCodePoint, maxLength: 20 }),
  );
  fc.assert(
    fc.property(fc.array(piece), fc.array(fc.nat(200)), (pieces, cuts) => {
      try {
        const reply = read(pieces.join(""), cuts);
        assert.ok(reply.status >= 0 && reply.status <= 999 && reply.body.length <= 10);
      } catch (error) {
        assert.equal((error as Error).name, "MalformedReply");
      }
    }),
    { numRuns: 500 },
  );
});

// Bytes that come over connections: HTTP, HTTP/2, SPDY, watches.
import { readPath } from "../../../src/localapi/serve/request.ts";
import { MessageReader } from "../../../src/outside/grpc/messages.ts";
import { RequestRepair } from "../../../src/outside/grpc/request-repair.ts";
import { GrpcError } from "../../../src/outside/grpc/status.ts";
import { Http2Error } from "../../../src/outside/http2/frames.ts";
import { encodeHeaders, HpackDecoder, HpackError } from "../../../src/outside/http2/hpack.ts";
import { LineSplitter } from "../../../src/outside/kube/transport/json-lines.ts";
import { parseHttpTarget } from "../../../src/outside/net/dial.ts";
import { healthStateOf } from "../../../src/outside/net/grpc-health.ts";
import { MalformedReply, ReplyReader } from "../../../src/outside/net/http-reply.ts";
import { bearerTokenOf, parseTarget } from "../../../src/outside/net/serve/request-target.ts";
import { readChannelMessage } from "../../../src/outside/net/streams/remote-command.ts";
import {
  encodeData,
  encodePing,
  SpdyDecoder,
  type SpdyFrame,
} from "../../../src/outside/net/streams/spdy-frames.ts";
import { parseRange } from "../../../src/server/debug/file-pages.ts";
import { parseNodeLogQuery } from "../../../src/server/debug/node-log-query.ts";
import { HttpProblem } from "../../../src/server/http-problem.ts";
import { parseLogQuery } from "../../../src/server/routes/log-query.ts";
import { parsePorts, parseStreamOptions } from "../../../src/server/routes/stream-options.ts";
import { Http2Peer } from "../../support/http2-peer.ts";
import { inPieces, outcome, same } from "../check.ts";
import { bytesTarget, textTarget } from "../target.ts";

const REPLY = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nLocation: /a\r\nX: y\r\n\r\nhello";
const CHUNKED =
  "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nTrailer: x\r\n\r\n";

function httpReply(pieces: readonly Uint8Array[]): unknown {
  const reader = new ReplyReader(64);
  for (const piece of pieces) {
    const reply = reader.push(piece);
    if (reply) return reply;
  }
  return reader.end();
}

const MAX_GRPC_BYTES = 64;
const hexOf = (message: Uint8Array) => Buffer.from(message).toString("hex");

const isMalformed = (error: unknown): boolean => error instanceof MalformedReply;

/** Data of a stream in one piece: how it is cut is the connection's matter. */
function joinedFrames(frames: readonly SpdyFrame[]): readonly unknown[] {
  const joined: unknown[] = [];
  let open: { readonly streamId: number; text: string; last: boolean } | undefined;
  for (const frame of frames) {
    if (frame.kind !== "data") {
      open = undefined;
      joined.push(frame);
      continue;
    }
    const text = Buffer.from(frame.bytes).toString("hex");
    if (open?.streamId === frame.streamId && !open.last) {
      open.text += text;
      open.last = frame.last;
    } else {
      open = { streamId: frame.streamId, text, last: frame.last };
      joined.push(open);
    }
  }
  return joined;
}

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
const LIMITS = { tableBytes: 4096, listBytes: 65_536 };
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const HEADERS = hex("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d");

function h2Frame(type: number, flags: number, payload: Uint8Array, streamId = 1): Uint8Array {
  const head = Buffer.from([0, 0, payload.length, type, flags, 0, 0, 0, streamId]);
  return Buffer.concat([head, payload]);
}

const isHpack = (error: unknown): boolean => error instanceof HpackError;

function repaired(pieces: readonly Uint8Array[]): unknown {
  const repair = new RequestRepair();
  const result = outcome(
    () => Buffer.concat(pieces.flatMap((piece) => repair.push(piece))).toString("hex"),
    (error) => isHpack(error) || error instanceof Http2Error,
  );
  return result === "refused" ? result : result.value;
}

/** What a client with three requests under way sends and reports when a server sends this. */
function answered(pieces: readonly Uint8Array[]): unknown {
  const peer = new Http2Peer({ connectionWindowBytes: 65_535, streamWindowBytes: 200 });
  const streams = [peer.open(), peer.open(Buffer.alloc(20_000)), peer.open(Buffer.alloc(0))];
  peer.connection.ping();
  const result = outcome(
    () => {
      for (const piece of pieces) peer.send(piece);
    },
    (error) => error instanceof Http2Error,
  );
  const events = streams.map((stream) => stream.events);
  const held = streams.reduce((sum, { bytes }) => sum + bytes(), 0);
  if (events.some((list) => list.filter((event) => /^(?:end|reset)/.test(event)).length > 1))
    throw new Error("a stream ended twice");
  return [result === "refused", events, held, peer.notices, peer.saidBriefly()];
}

/** Every decoder of what comes over a connection. */
export const WIRE_TARGETS = [
  textTarget({
    name: "request-target",
    files: [
      "net/serve/request-target.ts",
      "localapi/serve/request.ts",
      "server/debug/",
      "server/routes/",
    ],
    words: [
      ...[
        "/api/v1/namespaces/",
        "/apis/",
        "/pods/",
        "/proxy/",
        "/exec",
        "%2e%2e",
        "?",
        "&",
        "=",
        "+",
        "query",
      ],
      ...[
        "command=",
        "stdin=1",
        "tty=",
        "tailLines=",
        "sinceTime=",
        "sinceSeconds=",
        "limitBytes=",
        "port=",
      ],
      ...[
        "stream=Stdout",
        "pattern=",
        "(a+)+$",
        "boot=",
        "untilTime=",
        "watch=true",
        "timeoutSeconds=",
      ],
    ],
    seeds: [
      "/containerLogs/default/web/main?follow=true&tailLines=10&sinceTime=2026-11-22T00:00:00Z",
      "/exec/default/web/main?command=ls&command=-l&input=1&output=1&tty=0",
      "/api/v1/namespaces/default/pods/web/portforward?ports=80&ports=8080",
      "/logs/?query=containerd&sinceTime=2026-11-22T00:00:00Z&tailLines=5&pattern=a.*b&boot=0",
    ],
    refuses: [HttpProblem],
    run: (text) => {
      bearerTokenOf(`Bearer ${text}`);
      parseRange(text, 1000);
      parseHttpTarget(`http://${text}`);
      const target = parseTarget(text);
      if (!target) return;
      readPath(target);
      const { query, path } = target;
      const isProblem = (error: unknown) => error instanceof HttpProblem;
      outcome(() => parseStreamOptions(query), isProblem);
      outcome(() => parsePorts(query, true), isProblem);
      outcome(() => parseLogQuery(query, true), isProblem);
      parseNodeLogQuery(query, path.replace("/logs/", ""));
    },
  }),
  bytesTarget({
    name: "http-reply",
    files: ["net/http-reply.ts"],
    seeds: [Buffer.from(REPLY), Buffer.from(CHUNKED), Buffer.from("HTTP/1.0 200\n\nbody")],
    run: (bytes) => {
      const whole = outcome(() => httpReply([bytes]), isMalformed);
      same(
        outcome(() => httpReply(inPieces(bytes)), isMalformed),
        whole,
      );
    },
  }),
  bytesTarget({
    name: "spdy-frames",
    files: ["net/streams/spdy-frames.ts"],
    seeds: [
      Buffer.concat([
        ...[
          hex("80030002 00000004 00000001"),
          encodePing(7),
          ...encodeData(3, Buffer.from("hello"), true),
        ],
        ...[hex("80030003 00000008 00000001 00000002"), hex("80030007 00000008 00000001 00000000")],
        ...encodeData(5, Buffer.from("more"), false),
      ]),
    ],
    run: (bytes) => {
      const decoder = new SpdyDecoder();
      const pieces = inPieces(bytes).flatMap((piece) => decoder.push(piece));
      same(joinedFrames(pieces), joinedFrames(new SpdyDecoder().push(bytes)));
    },
  }),
  bytesTarget({
    name: "channel-messages",
    files: ["net/streams/remote-command.ts"],
    seeds: [Buffer.from("\u0000hello"), hex("ff00"), hex("04")],
    run: (bytes) => void readChannelMessage(bytes),
  }),
  bytesTarget({
    name: "grpc-messages",
    files: ["grpc/messages.ts"],
    seeds: [
      hex("00 00000003 0a0161"),
      hex("00 00000000 00 00000001 61 00 00000002 62"),
      hex("01 00000001 61"),
    ],
    refuses: [GrpcError],
    run: (bytes) => {
      const reader = new MessageReader(MAX_GRPC_BYTES);
      const messages = inPieces(bytes).flatMap((piece) => reader.push(piece).map(hexOf));
      const whole = new MessageReader(MAX_GRPC_BYTES);
      same(messages, whole.push(bytes).map(hexOf));
      same(reader.isAtEnd, whole.isAtEnd);
    },
  }),
  bytesTarget({
    name: "hpack",
    files: ["http2/hpack.ts"],
    seeds: [
      HEADERS,
      hex("8286 84be 5886 a8eb 1064 9cbf"),
      hex("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"),
      hex("3fe11f 4882 6402 1001 6101 62"),
    ],
    refuses: [HpackError],
    run: (bytes) => {
      const decoder = new HpackDecoder(LIMITS);
      const fields = decoder.decode(bytes);
      same(new HpackDecoder(LIMITS).decode(encodeHeaders(fields)), fields);
      decoder.decode(bytes);
    },
  }),
  bytesTarget({
    name: "http2-requests",
    files: ["grpc/request-repair.ts"],
    seeds: [
      Buffer.concat([
        PREFACE,
        h2Frame(4, 0, Buffer.alloc(0)),
        h2Frame(1, 4, HEADERS),
        h2Frame(0, 1, Buffer.from("data")),
      ]),
      Buffer.concat([
        PREFACE,
        h2Frame(1, 0x28, Buffer.concat([Buffer.alloc(6), HEADERS.subarray(0, 5)])),
        h2Frame(9, 4, HEADERS.subarray(5)),
      ]),
    ],
    run: (bytes) => same(repaired(inPieces(bytes)), repaired([bytes])),
  }),
  bytesTarget({
    name: "http2-answers",
    files: ["http2/"],
    seeds: [
      Buffer.concat([
        h2Frame(4, 0, hex("0003 00000064 0004 00010000"), 0),
        h2Frame(1, 4, hex("88 4001 6101 62")),
        h2Frame(0, 8, hex("02 6162 0000")),
        h2Frame(6, 0, Buffer.alloc(8), 0),
        h2Frame(1, 0, hex("88 be"), 3),
        h2Frame(9, 4, hex("0001 6301 64"), 3),
        h2Frame(0, 0, Buffer.alloc(100, 1), 3),
        h2Frame(1, 5, hex("0001 6501 66")),
        h2Frame(3, 0, hex("00000008"), 3),
        h2Frame(7, 0, hex("00000005 00000000"), 0),
      ]),
      Buffer.concat([
        h2Frame(4, 0, hex("0001 00000000 0003 00000001 0004 00000002"), 0),
        h2Frame(8, 0, hex("00000003"), 0),
        h2Frame(8, 0, hex("00000003")),
        h2Frame(4, 0, hex("0004 00000100 0005 00005000"), 0),
        h2Frame(1, 5, hex("88")),
        h2Frame(1, 4, hex("20 88 0f 10 0161"), 3),
        h2Frame(0, 1, hex("61"), 3),
      ]),
    ],
    run: (bytes) => same(answered(inPieces(bytes)), answered([bytes])),
  }),
  bytesTarget({
    name: "grpc-health",
    layout: "protobuf",
    files: ["net/grpc-health.ts"],
    seeds: [hex("0000000002 0801"), hex("0000000008 0a0161 0801 1a0162")],
    run: (bytes) => void healthStateOf(bytes),
  }),
  bytesTarget({
    name: "watch-lines",
    files: ["kube/transport/json-lines.ts"],
    seeds: [Buffer.from('{"type":"ADDED","object":{}}\n{"type":"BOOKMARK"}\n\nrest')],
    run: (bytes) => {
      const [one, other] = [new LineSplitter(), new LineSplitter()];
      const lines = inPieces(bytes).flatMap((piece) => one.push(piece));
      same([...lines, one.rest()], [...other.push(bytes), other.rest()]);
    },
  }),
];

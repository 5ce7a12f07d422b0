// Sessions on real sockets, against Node's own HTTP/2 server and against sockets that say anything.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import {
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from "node:http2";
import { createServer as createNetServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { blockOf, settingsOf } from "../../../test/support/http2-peer.ts";
import { frame, PREFACE } from "./frames.ts";
import { Http2Session } from "./http2.ts";
import type { Http2Reply } from "./stream.ts";

const block = blockOf({
  ":method": "POST",
  ":scheme": "http",
  ":path": "/x",
  ":authority": "localhost",
});

let folder: string;
let path: string;
let closing: (() => void)[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "http2-"));
  path = join(folder, "s.sock");
  closing = [];
});

afterEach(() => {
  for (const close of closing) close();
  rmSync(folder, { recursive: true });
});

type Answer = (stream: ServerHttp2Stream, body: Buffer) => void;

/** Answers with what it was sent, unless set otherwise. */
async function serve(settings: Settings, answer: Answer = echo): Promise<Http2Server> {
  const server = createServer({ settings });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {});
  });
  server.on("stream", (stream: ServerHttp2Stream) => {
    const parts: Buffer[] = [];
    stream.on("error", () => {});
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.on("end", () => answer(stream, Buffer.concat(parts)));
  });
  server.listen(path);
  await once(server, "listening");
  closing.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return server;
}

const echo: Answer = (stream, body) => {
  stream.respond({ ":status": 200 }, { waitForTrailers: true });
  stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(body);
};

interface Connected {
  readonly session: Http2Session;
  readonly notices: string[];
  readonly lost: Promise<Error | undefined>;
}

async function connected(): Promise<Connected> {
  const notices: string[] = [];
  const ready = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<Error | undefined>();
  const session = Http2Session.dial(
    { path },
    {
      ready: () => ready.resolve(),
      leaving: () => void notices.push("leaving"),
      idle: () => void notices.push("idle"),
      lost: (error) => {
        lost.resolve(error);
        ready.resolve();
      },
    },
  );
  closing.push(() => session.destroy());
  await ready.promise;
  return { session, notices, lost: lost.promise };
}

/** What came of a request: the answer's body, and its end. */
function ask(session: Http2Session, body: Uint8Array): Promise<[Buffer, Http2Reply | number]> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    session.http2.open(block, body, {
      data: (piece) => void parts.push(Buffer.from(piece)),
      end: (reply) => resolve([Buffer.concat(parts), reply]),
      reset: (code) => resolve([Buffer.concat(parts), code]),
    });
  });
}

const numbered = (bytes: number, seed: number) =>
  Buffer.from(Uint8Array.from({ length: bytes }, (_, index) => (index * 7 + seed) & 0xff));

const SERVERS: Readonly<Record<string, Settings>> = {
  "as Node has it": {},
  "tiny windows": { initialWindowSize: 1000 },
  "one stream at a time, no header table": { maxConcurrentStreams: 1, headerTableSize: 0 },
  "large frames": { maxFrameSize: 100_000, initialWindowSize: 1_000_000, headerTableSize: 65_536 },
};

for (const [name, settings] of Object.entries(SERVERS)) {
  test(`many requests at once, small and large, come back whole: ${name}`, async () => {
    await serve(settings);
    const { session, notices } = await connected();
    const sizes = [...Array.from({ length: 200 }, (_, at) => 1 + at * 37), 300_000, 2_000_000];
    const answers = await Promise.all(
      sizes.map((size, seed) => ask(session, numbered(size, seed))),
    );
    answers.forEach(([body, reply], seed) => {
      assert.ok(body.equals(numbered(sizes[seed] ?? 0, seed)));
      assert.ok(typeof reply === "object" && reply.trailers["grpc-status"] === "0");
    });
    assert.deepEqual(notices, ["idle"]);
  });
}

test("an answer may be larger than all windows, its headers than a frame", async () => {
  const long = "x".repeat(30_000);
  const answer = numbered(12_000_000, 1);
  await serve({}, (stream) => {
    stream.respond({ ":status": 200, long }, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-message": long }));
    stream.end(answer);
  });
  const { session } = await connected();
  const [body, reply] = await ask(session, Buffer.from("?"));
  assert.ok(body.equals(answer));
  assert.ok(typeof reply === "object");
  assert.deepEqual([reply.headers["long"], reply.trailers["grpc-message"]], [long, long]);
});

test("Node's server pings, changes its settings and sends GOAWAY while requests run", async () => {
  const server = await serve({ initialWindowSize: 100 });
  server.on("session", (session: ServerHttp2Session) => {
    session.ping(() => session.settings({ initialWindowSize: 70_000 }));
  });
  const { session, notices } = await connected();
  const answers = Promise.all(
    Array.from({ length: 20 }, (_, seed) => ask(session, numbered(50_000, seed))),
  );
  for (const [body] of await answers) assert.equal(body.length, 50_000);
  server.once("stream", (stream: ServerHttp2Stream) => stream.session?.goaway(0, stream.id));
  const [, reply] = await ask(session, Buffer.from("last"));
  assert.ok(typeof reply === "object");
  assert.deepEqual(notices, ["idle", "leaving", "idle"]);
});

/** A socket that sends these bytes to whoever connects, and keeps what it receives. */
async function say(
  bytes: Uint8Array,
  then: (socket: Socket) => void = () => {},
): Promise<Buffer[]> {
  const received: Buffer[] = [];
  const server = createNetServer((socket) => {
    closing.push(() => socket.destroy());
    socket.on("error", () => {});
    socket.on("data", (part: Buffer) => received.push(part));
    socket.write(bytes);
    then(socket);
  });
  server.listen(path);
  await once(server, "listening");
  closing.push(() => server.close());
  return received;
}

test("a peer that speaks something else loses the connection, and is informed why", async () => {
  const received = await say(Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), (socket) =>
    socket.once("close", () => done.resolve()),
  );
  const done = Promise.withResolvers<void>();
  const { session, lost } = await connected();
  assert.match(String(await lost), /FRAME_SIZE_ERROR/);
  session.destroy();
  await done.promise;
  const bytes = Buffer.concat(received);
  assert.ok(bytes.subarray(0, PREFACE.length).equals(PREFACE));
  assert.equal(bytes.at(-17 + 3), 7, "GOAWAY comes last");
});

test("a peer that hangs up, in the middle of a frame or before, is noticed", async () => {
  const partial = frame(1, 4, 1, blockOf({ ":status": "200" })).subarray(0, 12);
  await say(Buffer.concat([settingsOf({}), partial]), (socket) => socket.end());
  const { lost } = await connected();
  assert.equal(await lost, undefined);
});

test("a peer that does not read loses the connection instead of filling the memory", async () => {
  const MOST = 20 * 1024 * 1024;
  await say(settingsOf({}), (socket) => socket.pause());
  const { session, lost } = await connected();
  let isLost = false;
  void lost.then(() => {
    isLost = true;
  });
  const long = blockOf({ ":path": "/x".repeat(5_000) });
  const receiver = { data: () => {}, end: () => {}, reset: () => {} };
  for (let bytes = 0; !isLost && bytes < MOST; bytes += long.length) {
    session.http2.cancel(session.http2.open(long, Buffer.alloc(0), receiver));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(isLost, `${session.socket.writableLength} bytes wait`);
  assert.match(String(await lost), /the peer does not read: more than 4 MiB wait to be sent/);
  assert.ok(session.socket.writableLength < 5 * 1024 * 1024);
});

test("nobody listens", async () => {
  const { lost } = await connected();
  assert.match(String(await lost), /ENOENT/);
});

test("what is said in one turn is written at once", async () => {
  await serve({});
  const { session } = await connected();
  let writes = 0;
  const write = session.socket.write.bind(session.socket);
  session.socket.write = ((bytes: Buffer) => {
    writes += 1;
    return write(bytes);
  }) as typeof session.socket.write;
  await Promise.all(Array.from({ length: 5 }, (_, seed) => ask(session, numbered(10, seed))));
  assert.equal(writes, 1);
});

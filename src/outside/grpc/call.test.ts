// Calls of servers that answer otherwise than gRPC's libraries do.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import {
  createServer,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { connect as connectNet, createServer as createNetServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { until } from "../../kit/cell.ts";
import { type GrpcChannel, type GrpcMethod, openChannel } from "./channel.ts";
import { frameMessage } from "./messages.ts";
import { GrpcError } from "./status.ts";

const TEXT = {
  encode: (message: string) => ({ finish: () => new TextEncoder().encode(message) }),
  decode: (bytes: Uint8Array) => new TextDecoder().decode(bytes),
};
const ASK: GrpcMethod<string, string> = { name: "Ask", requestType: TEXT, responseType: TEXT };
const MAX = 64 * 1024 * 1024;
const GRPC = { ":status": 200, "content-type": "application/grpc" };
const never = new AbortController().signal;
const limit = () => AbortSignal.timeout(30_000);

let path: string;
let folder: string;
let server: Http2Server;
let sessions: ServerHttp2Session[];
let channel: GrpcChannel;
let answer: (stream: ServerHttp2Stream, question: string) => void;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "call-"));
  path = join(folder, "s.sock");
  sessions = [];
  server = createServer();
  server.on("session", (session) => sessions.push(session));
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    const parts: Buffer[] = [];
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.on("end", () => answer(stream, Buffer.concat(parts).subarray(5).toString()));
  });
  server.listen(path);
  await once(server, "listening");
  channel = openChannel({ target: `unix://${path}` });
});

afterEach(() => {
  channel.close();
  for (const session of sessions) session.destroy();
  server.close();
  rmSync(folder, { recursive: true });
});

const ask = (question = "?", timeoutMs = 60_000) =>
  channel.unary(ASK, "test.v1.Test", question, { signal: never, timeoutMs });

function reply(stream: ServerHttp2Stream, texts: readonly string[], status = "0"): void {
  stream.respond(GRPC, { waitForTrailers: true });
  stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }));
  stream.end(Buffer.concat(texts.map((text) => frameMessage(Buffer.from(text), MAX))));
}

test("a timeout of any length reaches the server in at most eight digits", async () => {
  const seen: unknown[] = [];
  server.on("stream", (_, headers) => seen.push(headers["grpc-timeout"]));
  answer = (stream) => reply(stream, ["yes"]);
  for (const seconds of [30, 1e8, 1e10, 2 ** 53, 1e300]) {
    assert.equal(await ask("?", seconds * 1000), "yes");
    assert.match(String(seen.at(-1)), /^[0-9]{1,8}[mSMH]$/);
  }
});

test("answers that are none have the status that gRPC gives them", async () => {
  const cases: readonly [string, (stream: ServerHttp2Stream) => void, string, RegExp][] = [
    ["no gRPC", (s) => s.respond({ ":status": 404 }, { endStream: true }), "unimplemented", /404/],
    ["a proxy", (s) => s.respond({ ":status": 503 }, { endStream: true }), "unavailable", /503/],
    [
      "a page",
      (s) => s.respond({ ":status": 200, "content-type": "text/html" }, { endStream: true }),
      "io",
      /content-type/,
    ],
    [
      "no status",
      (s) => {
        s.respond(GRPC);
        s.end(frameMessage(Buffer.from("x"), MAX));
      },
      "io",
      /without sending trailers/,
    ],
    ["refused", (s) => s.close(7), "unavailable", /./],
    ["cancelled", (s) => s.close(8), "aborted", /./],
    ["too much asked", (s) => s.close(11), "exhausted", /./],
    [
      "broken off",
      (s) => {
        s.respond(GRPC);
        s.write("x");
        s.close(2);
      },
      "io",
      /./,
    ],
    ["none", (s) => reply(s, []), "io", /0 answers/],
    ["two", (s) => reply(s, ["a", "b"]), "io", /2 answers/],
    [
      "too long",
      (s) => {
        s.respond(GRPC);
        s.write(Buffer.from([0, 0x7f, 0, 0, 0]));
      },
      "exhausted",
      /larger than max/,
    ],
    [
      "compressed",
      (s) => {
        s.respond(GRPC);
        s.write(Buffer.from([1, 0, 0, 0, 1, 1]));
      },
      "io",
      /compressed/,
    ],
    [
      "a text",
      (s) =>
        s.respond(
          { ...GRPC, "grpc-status": "5", "grpc-message": "no %C3%BC here" },
          { endStream: true },
        ),
      "notFound",
      /desc = no ü here$/,
    ],
  ];
  for (const [name, how, code, message] of cases) {
    answer = how;
    await assert.rejects(ask(), { code, message }, name);
  }
  answer = (stream) => {
    stream.respond(GRPC, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.from([0, 0, 0, 0, 9, 1]));
  };
  await assert.rejects(ask(), { code: "io", message: /unexpected EOF/ });
  assert.equal(sessions.length, 1, "one connection for all");
});

test("the server learns how long a call may take, and nothing where there is no deadline", async () => {
  const received: unknown[] = [];
  answer = (stream) => reply(stream, ["yes"]);
  server.on("stream", (_, headers) => received.push(headers["grpc-timeout"]));
  await ask("?", 5_000);
  await ask("?", 300_000_000);
  await channel.unary(ASK, "test.v1.Test", "?", { signal: never });
  assert.match(String(received[0]), /^[45]\d\d\dm$/);
  assert.match(String(received[1]), /^(300000|299999)S$/);
  assert.equal(received[2], undefined);
});

test("a request longer than the maximum is refused before it is sent", async () => {
  let asked = 0;
  answer = () => (asked += 1);
  await assert.rejects(ask("x".repeat(16 * 1024 * 1024 + 1)), { code: "exhausted" });
  assert.equal(asked, 0);
});

test("a server that leaves with GOAWAY answers what it has, and new calls go to its successor", async () => {
  const held: ServerHttp2Stream[] = [];
  answer = (stream) => held.push(stream);
  const first = ask("first");
  while (held.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  sessions[0]?.goaway(0, (held[0]?.id ?? 0) as number);
  answer = (stream) => reply(stream, ["second"]);
  await until(channel.state, (link) => link !== "ready", limit());
  assert.equal(await ask(), "second");
  const [stream] = held;
  assert.ok(stream && sessions.length === 2);
  reply(stream, ["first"]);
  assert.equal(await first, "first");
});

test("a connection that breaks ends its calls as unavailable, and a call may wait for the next one", async () => {
  answer = (stream) => stream.session?.socket.destroy();
  await assert.rejects(ask(), { code: "unavailable" });
  answer = (stream) => reply(stream, ["again"]);
  assert.equal(await ask(), "again");
});

test("calls end at their deadline and with their signal while there is no connection", async () => {
  const silent = join(folder, "silent.sock");
  const accepting = createNetServer(() => {}).listen(silent);
  await once(accepting, "listening");
  const waiting = openChannel({ target: `unix://${silent}` });
  const stop = new AbortController();
  const call = waiting.unary(ASK, "test.v1.Test", "?", { signal: stop.signal });
  await assert.rejects(waiting.unary(ASK, "test.v1.Test", "?", { signal: never, timeoutMs: 50 }), {
    code: "deadline",
  });
  stop.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  const last = waiting.unary(ASK, "test.v1.Test", "?", { signal: never });
  waiting.close();
  await assert.rejects(last, { code: "unavailable" });
  accepting.close();
});

test("a stream holds the server up while its reader is busy", async () => {
  const piece = "x".repeat(256 * 1024);
  let sent = 0;
  answer = (stream) => {
    stream.respond(GRPC, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    const more = () => {
      while (sent < 64) {
        sent += 1;
        if (!stream.write(frameMessage(Buffer.from(piece), MAX)))
          return void stream.once("drain", more);
      }
      stream.end();
    };
    more();
  };
  let read = 0;
  for await (const text of channel.serverStream(ASK, "test.v1.Test", "?", { signal: never })) {
    assert.equal(text.length, piece.length);
    read += 1;
    if (read > 1) continue;
    // Unary calls go on beside it meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.ok(sent < 64, `${sent} pieces were sent to a reader that has taken one`);
  }
  assert.equal(read, 64);
});

test("an open channel keeps no process alive, a call on it does", async () => {
  answer = (stream) => setTimeout(() => reply(stream, ["late"]), 200);
  const program = `
    import { openChannel } from ${JSON.stringify(join(import.meta.dirname, "channel.ts"))};
    import { until } from ${JSON.stringify(join(import.meta.dirname, "../../kit/cell.ts"))};
    const TEXT = { encode: () => ({ finish: () => new Uint8Array(1) }), decode: (bytes) => Buffer.from(bytes).toString() };
    const ASK = { name: "Ask", requestType: TEXT, responseType: TEXT };
    const channel = openChannel({ target: ${JSON.stringify(`unix://${path}`)} });
    console.log(await channel.unary(ASK, "test.v1.Test", "?", { signal: new AbortController().signal }));
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 30_000,
  });
  let output = "";
  child.stdout.on("data", (text) => {
    output += text;
  });
  const [code] = await once(child, "close");
  assert.deepEqual([code, output], [0, "late\n"]);
});

test("headers that cannot be sent end their call only", async () => {
  answer = (stream) => reply(stream, ["yes"]);
  const headers = { traceparent: "a\r\nb: c" };
  await assert.rejects(channel.unary(ASK, "test.v1.Test", "?", { signal: never, headers }), {
    code: "io",
    message: /"traceparent" that cannot be sent/,
  });
  assert.equal(await ask(), "yes");
});

test("calls beyond what the server takes at once wait, and end at their deadline", async () => {
  for (const session of sessions) session.destroy();
  server.close();
  const held: ServerHttp2Stream[] = [];
  const small = createServer({ settings: { maxConcurrentStreams: 1 } });
  small.on("session", (session) => sessions.push(session));
  small.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    held.push(stream);
  });
  small.listen(join(folder, "small.sock"));
  await once(small, "listening");
  const busy = openChannel({ target: `unix://${join(folder, "small.sock")}` });
  await until(busy.state, (link) => link === "ready", limit());
  const say = (timeoutMs?: number) =>
    busy.unary(ASK, "test.v1.Test", "?", {
      signal: never,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  const first = say();
  const second = say(20);
  const third = say();
  await assert.rejects(second, { code: "deadline" });
  while (held.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  reply(held[0] as ServerHttp2Stream, ["first"]);
  assert.equal(await first, "first");
  while (held.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  reply(held[1] as ServerHttp2Stream, ["third"]);
  assert.equal(await third, "third");
  busy.close();
  small.close();
});

/** Frames of an answer that goes well, as one call of Node's server says them. */
async function goodAnswer(): Promise<Buffer> {
  answer = (stream) => reply(stream, ["yes"]);
  const parts: Buffer[] = [];
  const between = join(folder, "between.sock");
  const relay = createNetServer((socket) => {
    const onward = connectNet(path);
    socket.pipe(onward);
    onward.on("data", (part: Buffer) => {
      parts.push(part);
      socket.write(part);
    });
    for (const end of [socket, onward]) end.on("error", () => {});
    socket.on("close", () => onward.destroy());
  }).listen(between);
  await once(relay, "listening");
  const recorded = openChannel({ target: `unix://${between}` });
  assert.equal(await recorded.unary(ASK, "test.v1.Test", "?", { signal: never }), "yes");
  recorded.close();
  relay.close();
  return Buffer.concat(parts);
}

test("whatever a server says, each call ends and nothing else happens", async () => {
  const good = await goodAnswer();
  const broken = join(folder, "broken.sock");
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const server = createNetServer((socket) => {
    const bytes = Buffer.from(good);
    for (let changes = random(4); changes >= 0; changes -= 1)
      bytes[random(bytes.length)] = random(256);
    socket.on("error", () => {});
    socket.resume();
    for (let at = 0; at < bytes.length; at += 20) socket.write(bytes.subarray(at, at + 20));
    if (random(3) === 0) socket.end();
  }).listen(broken);
  await once(server, "listening");
  const outcomes = await Promise.all(
    Array.from({ length: 150 }, async () => {
      const other = openChannel({ target: `unix://${broken}` });
      const outcome = await other
        .unary(ASK, "test.v1.Test", "?", { signal: never, timeoutMs: 2_000 })
        .catch((error: unknown) => error);
      other.close();
      return outcome;
    }),
  );
  server.close();
  for (const outcome of outcomes)
    assert.ok(typeof outcome === "string" || outcome instanceof GrpcError, String(outcome));
  assert.ok(outcomes.some((outcome) => outcome === "yes"));
  assert.ok(outcomes.some((outcome) => outcome instanceof GrpcError));
});

import assert from "node:assert/strict";
import { createServer as createHttp } from "node:http";
import { createServer as createH2, type ServerHttp2Stream } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, test } from "node:test";
import {
  Server as GrpcServer,
  type handleUnaryCall,
  type Metadata,
  ServerCredentials,
  type ServiceDefinition,
} from "@grpc/grpc-js";
import fc from "fast-check";
import { TEST_CERTIFICATE } from "../../../test/probes/certificate.ts";
import { listen, timeWaitCount } from "../../../test/probes/sockets.ts";
import { grpcHealth, healthStateOf } from "./grpc-health.ts";
import { LaxTls } from "./lax-tls.ts";
import type { GrpcHealthAnswer } from "./net.ts";

const never = new AbortController().signal;
const open = new Set<{ close(): unknown }>();
const sockets = new Set<Socket>();

function track<S extends Server>(server: S): S {
  open.add(server);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  return server;
}

afterEach(() => {
  for (const server of open) server.close();
  for (const socket of sockets) socket.destroy();
  open.clear();
});

interface CheckOptions {
  service?: string;
  timeoutMs?: number;
  tls?: boolean;
}

function check(port: number, { tls = false, ...options }: CheckOptions = {}) {
  return grpcHealth(
    {
      host: "127.0.0.1",
      port,
      service: options.service ?? "",
      timeoutMs: options.timeoutMs ?? 10_000,
      userAgent: "kube-probe/1.36",
      tls,
    },
    new LaxTls(),
    never,
  );
}

const identity = (bytes: Buffer) => bytes;
const definition: ServiceDefinition = {
  Check: {
    path: "/grpc.health.v1.Health/Check",
    requestStream: false,
    responseStream: false,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  },
};

/** A server of the ordinary library, which takes the state to answer from the name of the service. */
async function serveHealth(
  seen: Metadata[] = [],
  credentials = ServerCredentials.createInsecure(),
): Promise<number> {
  const server = new GrpcServer();
  const handler: handleUnaryCall<Buffer, Buffer> = (call, reply) => {
    seen.push(call.metadata);
    const service = call.request.length > 0 ? call.request.subarray(2).toString() : "";
    const state = /^state (\d+)$/.exec(service)?.[1];
    const code = /^code (\d+)$/.exec(service)?.[1];
    if (service === "hang") return;
    if (code !== undefined) reply({ code: Number(code), details: "ünhappy: 100%" });
    else if (state === "0") reply(null, Buffer.alloc(0));
    else reply(null, Buffer.from([8, Number(state ?? 1)]));
  };
  server.addService(definition, { Check: handler });
  open.add({ close: () => server.forceShutdown() });
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", credentials, (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });
}

test("grpcHealth asks a stock server and reads every state", async () => {
  const seen: Metadata[] = [];
  const port = await serveHealth(seen);
  const states: readonly (readonly [string, string])[] = [
    ["", "SERVING"],
    ["state 0", "UNKNOWN"],
    ["state 1", "SERVING"],
    ["state 2", "NOT_SERVING"],
    ["state 3", "SERVICE_UNKNOWN"],
    ["state 99", "UNKNOWN"],
  ];
  for (const [service, status] of states)
    assert.deepEqual(await check(port, { service }), { kind: "status", status }, service);
  assert.deepEqual(seen[0]?.get("user-agent"), ["kube-probe/1.36"]);
});

test("grpcHealth reaches a server with a timeout of decades, which has a unit of its own", async () => {
  const port = await serveHealth();
  const answer = await check(port, { timeoutMs: (2 ** 31 - 1) * 1000 });
  assert.deepEqual(answer, { kind: "status", status: "SERVING" });
});

test("grpcHealth distinguishes what a server may answer instead", async () => {
  const port = await serveHealth();
  const answers: Readonly<Record<string, GrpcHealthAnswer>> = {
    "code 12": { kind: "unimplemented", message: "ünhappy: 100%" },
    "code 4": { kind: "timeout", stage: "call", message: "ünhappy: 100%" },
    "code 5": {
      kind: "failure",
      message: "rpc error: code = NotFound desc = ünhappy: 100%",
    },
    "code 14": {
      kind: "failure",
      message: "rpc error: code = Unavailable desc = ünhappy: 100%",
    },
  };
  for (const [service, answer] of Object.entries(answers))
    assert.deepEqual(await check(port, { service }), answer, service);
});

test("grpcHealth times out in the call on a server that hangs, and ends early with the signal", async () => {
  const port = await serveHealth();
  assert.deepEqual(await check(port, { service: "hang", timeoutMs: 300 }), {
    kind: "timeout",
    stage: "call",
    message: "context deadline exceeded",
  });
  const stop = new AbortController();
  const request = { host: "127.0.0.1", port, service: "hang", timeoutMs: 60_000 };
  const early = grpcHealth(request, new LaxTls(), stop.signal);
  setTimeout(() => stop.abort(new Error("enough")), 50);
  await assert.rejects(early, /enough/);
});

test("grpcHealth times out in connecting where no HTTP/2 server is, and says why", async () => {
  const closed = createServer();
  const port = await listen(closed);
  closed.close();
  const refused = await check(port, { timeoutMs: 500 });
  assert.deepEqual(refused, {
    kind: "timeout",
    stage: "connect",
    message: `context deadline exceeded: connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:${port}: connect: connection refused"`,
  });
  const silent = await check(await listen(track(createServer())), { timeoutMs: 200 });
  assert.deepEqual(silent, {
    kind: "timeout",
    stage: "connect",
    message: "context deadline exceeded",
  });
  const http = await check(await listen(track(createHttp())), { timeoutMs: 300 });
  assert.ok(http.kind === "timeout" && http.stage === "connect");
});

test("grpcHealth finds a server that comes up within the time", async () => {
  const closed = createServer();
  const port = await listen(closed);
  closed.close();
  const late = track(createH2().on("stream", (stream: ServerHttp2Stream) => answer(stream, {})));
  setTimeout(() => late.listen(port, "127.0.0.1"), 300);
  assert.deepEqual(await check(port, { timeoutMs: 30_000 }), { kind: "status", status: "SERVING" });
});

interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly body?: Buffer;
  readonly trailers?: Record<string, string>;
}

const SERVING = Buffer.from([0, 0, 0, 0, 2, 8, 1]);

function answer(stream: ServerHttp2Stream, options: Answer): void {
  stream.on("error", () => {});
  stream.respond(
    { ":status": options.status ?? 200, "content-type": options.type ?? "application/grpc" },
    { waitForTrailers: true },
  );
  stream.on("wantTrailers", () => stream.sendTrailers(options.trailers ?? { "grpc-status": "0" }));
  stream.end(options.body ?? SERVING);
}

const ODD: readonly (readonly [string, Answer, RegExp])[] = [
  ["a page", { status: 404, type: "text/html", trailers: {} }, /^unimplemented .*: 404$/],
  ["an overload", { status: 503, trailers: {} }, /^failure .*Unavailable desc = .*: 503$/],
  ["a teapot", { status: 418, trailers: {} }, /^failure .*Unknown desc = .*: 418$/],
  ["HTML with 200", { type: "text/html", trailers: {} }, /^failure .*content-type "text\/html"$/],
  ["no trailers", { trailers: {} }, /^failure .*Internal desc = server closed the stream/],
  ["no message", { body: Buffer.alloc(0) }, /^failure .*failed to unmarshal/],
  ["half a message", { body: SERVING.subarray(0, 6) }, /^failure .*failed to unmarshal/],
  ["a compressed message", { body: Buffer.from([1, 0, 0, 0, 0]) }, /^failure .*failed to unmarsh/],
  ["far too much", { body: Buffer.alloc(1_000_000) }, /^failure .*Internal desc = server closed/],
  ["an odd status", { trailers: { "grpc-status": "77" } }, /^failure .*code = Code\(77\)/],
];

for (const [name, options, expected] of ODD) {
  test(`grpcHealth survives ${name}`, async () => {
    const port = await listen(
      track(createH2().on("stream", (stream: ServerHttp2Stream) => answer(stream, options))),
    );
    const result = await check(port);
    assert.match(`${result.kind} ${"message" in result ? result.message : ""}`, expected);
  });
}

test("grpcHealth survives resets of stream, session and connection in the call", async () => {
  const ends: readonly ((stream: ServerHttp2Stream) => void)[] = [
    (stream) => stream.close(2),
    (stream) => setImmediate(() => stream.session?.destroy()),
    (stream) => stream.session?.goaway(11),
    () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
  ];
  for (const end of ends) {
    const server = createH2().on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => {});
      // The client must have seen the server's settings, or this counts as not connected.
      setTimeout(() => end(stream), 50);
    });
    const result = await check(await listen(track(server)), { timeoutMs: 10_000 });
    assert.match(
      `${result.kind} ${"message" in result ? result.message : ""}`,
      /^failure .*Unavailable/,
    );
  }
});

test("grpcHealth leaves nothing in TIME_WAIT", async () => {
  const port = await listen(
    track(createH2().on("stream", (stream: ServerHttp2Stream) => answer(stream, {}))),
  );
  for (let i = 0; i < 20; i += 1) await check(port);
  for (let i = 0; i < 500 && sockets.size > 0; i += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(sockets.size, 0);
  assert.equal(timeWaitCount(port), 0);
});

test("healthStateOf reads the state among other fields and never throws", () => {
  const framed = (hex: string) => {
    const message = Buffer.from(hex.replaceAll(" ", ""), "hex");
    return Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
  };
  assert.equal(healthStateOf(framed("0801")), "SERVING");
  assert.equal(healthStateOf(framed("1201780802")), "NOT_SERVING");
  assert.equal(healthStateOf(framed("190000000000000000 2500000000 0803")), "SERVICE_UNKNOWN");
  assert.equal(healthStateOf(framed("08")), undefined);
  assert.equal(healthStateOf(framed("120578")), undefined);
  fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => void healthStateOf(bytes)));
});

test("grpcHealth over TLS takes any certificate, and needs a server that speaks TLS", async () => {
  const { key, cert } = TEST_CERTIFICATE;
  const pair = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
  const secure = await serveHealth([], ServerCredentials.createSsl(null, [pair]));
  assert.deepEqual(await check(secure, { tls: true }), { kind: "status", status: "SERVING" });
  const plain = await serveHealth();
  const answers = [
    await check(secure, { timeoutMs: 500 }),
    await check(plain, { tls: true, timeoutMs: 500 }),
  ];
  for (const { kind } of answers) assert.ok(kind === "failure" || kind === "timeout", kind);
  const [, handshake] = answers;
  assert.match(
    handshake && "message" in handshake ? handshake.message : "",
    /transport: authentication handshake failed: /,
  );
});

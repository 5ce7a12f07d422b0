import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect as connectH2 } from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { OutsideError } from "../../kit/errors.ts";
import { connectGrpc, type GrpcListener, streamCall, unaryCall } from "./grpc.ts";
import { GrpcError } from "./status.ts";

const TEXT = {
  encode: (message: string) => ({ finish: () => new TextEncoder().encode(message) }),
  decode: (bytes: Uint8Array) => new TextDecoder().decode(bytes),
};
const SERVICE = "test.Speaker";
const SAY = { name: "Say", requestType: TEXT, responseType: TEXT };
const COUNT = { name: "Count", requestType: TEXT, responseType: TEXT };

const never = new AbortController().signal;
const grpc = connectGrpc();
let folder: string;
let path: string;
let listener: GrpcListener;
let gaveUp: string[];

const calls = [
  unaryCall(SERVICE, SAY, async (text, signal) => {
    if (text === "hang") {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      gaveUp.push(text);
    }
    if (text === "refuse") throw new GrpcError(8, "too many");
    if (text === "throw") throw new Error("it broke");
    return text.toUpperCase();
  }),
  streamCall(SERVICE, COUNT, async function* (text, signal) {
    if (text === "throw") throw new Error("it broke");
    for (let i = 0; !signal.aborted && i < Number(text); i += 1)
      yield "x".repeat(i === 0 ? 1 : 65_536);
    if (signal.aborted) gaveUp.push(text);
  }),
];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "grpc-"));
  path = join(folder, "s.sock");
  gaveUp = [];
  listener = await grpc.listen({ path, calls, onBroken: () => {} });
});

afterEach(async () => {
  await listener.close();
  rmSync(folder, { recursive: true });
});

async function eventually(test: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !test(); i += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(test());
}

for (const authority of [
  "localhost",
  "/var/lib/kubelet/device-plugins/kubelet.sock",
  "%2Fs.sock",
]) {
  test(`listenGrpc answers clients that call it ${authority}, again and again`, async () => {
    const channel = grpc.connect({ target: `unix://${path}`, authority });
    for (const word of ["one", "two", "three"])
      assert.equal(await channel.unary(SAY, SERVICE, word, { signal: never }), word.toUpperCase());
    channel.close();
  });
}

test("listenGrpc turns throws into statuses with their text", async () => {
  const channel = grpc.connect({ target: `unix://${path}` });
  const say = (text: string) => channel.unary(SAY, SERVICE, text, { signal: never });
  await assert.rejects(say("refuse"), { status: 8, details: "too many" });
  await assert.rejects(say("throw"), { status: 2, details: "it broke" });
  await assert.rejects(
    async () => {
      for await (const _ of channel.serverStream(COUNT, SERVICE, "throw", { signal: never }));
    },
    { status: 2, details: "it broke" },
  );
  await assert.rejects(channel.unary({ ...SAY, name: "Missing" }, SERVICE, "", { signal: never }), {
    status: 12,
  });
  channel.close();
});

test("listenGrpc streams, waits for slow readers and learns when they leave", async () => {
  const channel = grpc.connect({ target: `unix://${path}` });
  let read = 0;
  for await (const text of channel.serverStream(COUNT, SERVICE, "200", { signal: never }))
    read += text.length;
  assert.equal(read, 1 + 199 * 65_536);
  for await (const _ of channel.serverStream(COUNT, SERVICE, "1000000", { signal: never })) break;
  await eventually(() => gaveUp.includes("1000000"));
  channel.close();
});

test("listenGrpc cancels the handler when its caller gave up", async () => {
  const channel = grpc.connect({ target: `unix://${path}` });
  // On a busy machine a call may be over before it reaches the other side: the next one is longer.
  for (let timeoutMs = 50; !gaveUp.includes("hang") && timeoutMs < 10_000; timeoutMs *= 2) {
    await assert.rejects(channel.unary(SAY, SERVICE, "hang", { signal: never, timeoutMs }), {
      code: "deadline",
    });
    await new Promise((resolve) => setTimeout(resolve, timeoutMs));
  }
  await eventually(() => gaveUp.includes("hang"));
  channel.close();
});

test("listenGrpc is for root, replaces a stale socket, and leaves nothing", async () => {
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const second = await grpc.listen({ path, calls, onBroken: () => {} });
  const channel = grpc.connect({ target: `unix://${path}` });
  assert.equal(await channel.unary(SAY, SERVICE, "new", { signal: never }), "NEW");
  channel.close();
  await second.close();
  assert.equal(existsSync(path), false);
});

test("listenGrpc does not replace a file, nor take a path that no socket can have", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "kept");
  await assert.rejects(grpc.listen({ path: file, calls, onBroken: () => {} }), OutsideError);
  assert.ok(existsSync(file));
  await assert.rejects(
    grpc.listen({ path: join(folder, "x".repeat(110)), calls, onBroken: () => {} }),
    /at most 107 bytes/,
  );
});

test("listenGrpc outlives peers that speak nonsense or leave in the middle", async () => {
  const openings = [
    Buffer.from("GET / HTTP/1.1\r\n\r\n"),
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    Buffer.concat([
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      Buffer.from([0, 0, 1, 1, 4, 0, 0, 0, 1, 0xff]),
    ]),
    Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Buffer.alloc(4096, 255)]),
    Buffer.alloc(0),
  ];
  for (const opening of openings) {
    for (const end of ["end", "destroy"] as const) {
      const socket = connect(path);
      socket.on("error", () => {});
      socket.write(opening);
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (end === "end") socket.end();
      else socket.destroy();
    }
  }
  const channel = grpc.connect({ target: `unix://${path}` });
  assert.equal(await channel.unary(SAY, SERVICE, "still", { signal: never }), "STILL");
  channel.close();
});

test("an idle connection gets GOAWAY, a busy one does not", async () => {
  const at = join(folder, "idle.sock");
  const idle = await grpc.listen({ path: at, calls, onBroken: () => {}, idleMs: 200 });
  const open = () => {
    const session = connectH2("http://localhost", { createConnection: () => connect(at) });
    session.on("error", () => {});
    return session;
  };
  const [quiet, busy] = [open(), open()];
  const body = Buffer.concat([Buffer.from([0, 0, 0, 0, 4]), Buffer.from("hang")]);
  const stream = busy.request({
    ":method": "POST",
    ":path": `/${SERVICE}/Say`,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => {});
  stream.end(body);
  await once(quiet, "goaway");
  assert.ok(!busy.closed && !stream.closed);
  quiet.destroy();
  busy.destroy();
  await eventually(() => gaveUp.length === 1);
  await idle.close();
});

test("a socket removed while it is created leaves nothing open", async () => {
  const other = join(folder, "other.sock");
  const servers = () => process.getActiveResourcesInfo().filter((name) => /Pipe/.test(name)).length;
  const before = servers();
  let refused = 0;
  for (let tries = 0; refused === 0 && tries < 200; tries += 1) {
    let isOver = false;
    const made = grpc.listen({ path: other, calls, onBroken: () => {} }).then(
      (listening) => listening.close(),
      (error: unknown) => {
        assert.ok(error instanceof OutsideError);
        refused += 1;
      },
    );
    void made.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      rmSync(other, { force: true });
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  assert.ok(refused > 0, "the socket was never removed in time");
  for (let tries = 0; servers() > before && tries < 100; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(servers(), before);
});

import assert from "node:assert/strict";
import { createServer, type Server, type Socket } from "node:net";
import { after, afterEach, test } from "node:test";
import { listen } from "../../../test/probes/sockets.ts";
import { HttpClient } from "./http.ts";
import type { HttpAnswer, HttpExchange } from "./net.ts";

const never = new AbortController().signal;
const open = new Set<Server>();
const sockets = new Set<Socket>();

function track<S extends Server>(server: S): S {
  open.add(server);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  return server;
}

function closeAll(): void {
  for (const server of open) server.close();
  for (const socket of sockets) socket.destroy();
  open.clear();
}
afterEach(closeAll);
after(closeAll);

const serveRaw = (onSocket: (socket: Socket) => void) => listen(track(createServer(onSocket)));

function get(url: string, options: Partial<HttpExchange> = {}): Promise<HttpAnswer> {
  return new HttpClient().get(
    {
      url,
      method: "GET",
      headers: [],
      timeoutMs: 10_000,
      maxBodyBytes: 100,
      followSameHost: true,
      ...options,
    },
    never,
  );
}

const response = (status: number, body: string, redirectedAway = false): HttpAnswer => ({
  kind: "response",
  status,
  body,
  redirectedAway,
});

interface Hostile {
  readonly does: (socket: Socket) => void;
  readonly expect: RegExp | { readonly status: number; readonly body: string };
  readonly timeoutMs?: number;
}

const HEAD = "HTTP/1.1 200 OK\r\n";

/** Writes again and again, as fast as the peer reads. */
function pour(socket: Socket, part: string | Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(part));
    if (!socket.destroyed) socket.once("drain", more);
  };
  more();
}

function drip(socket: Socket, part: string): void {
  const timer = setInterval(() => socket.write(part), 10);
  socket.on("close", () => clearInterval(timer));
}

const HOSTILE: Readonly<Record<string, Hostile>> = {
  "an endless body": {
    does: (socket) =>
      pour(
        socket.on("data", () => {}),
        `${HEAD}\r\n${"x".repeat(65_536)}`,
      ),
    expect: { status: 200, body: "x".repeat(100) },
  },
  "endless chunks": {
    does: (socket) => {
      socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
      pour(socket, `1000\r\n${"y".repeat(4096)}\r\n`);
    },
    expect: { status: 200, body: "y".repeat(100) },
  },
  "a header bomb": {
    does: (socket) => {
      socket.write(HEAD);
      pour(socket, `X-Bomb: ${"z".repeat(65_536)}\r\n`);
    },
    expect: /: net\/http: .*headers exceeded 262144 bytes; aborted$/,
  },
  "a status line without end": {
    does: (socket) => pour(socket, "HTTP/1.1 200 ".padEnd(65_536, "O")),
    expect: /headers exceeded 262144 bytes; aborted$/,
  },
  "a slow head": {
    does: (socket) => drip(socket, "H"),
    expect: /: context deadline exceeded \(Client.Timeout exceeded while awaiting headers\)$/,
    timeoutMs: 200,
  },
  "a slow body": {
    does: (socket) => {
      socket.write(`${HEAD}Content-Length: 99999\r\n\r\n`);
      drip(socket, ".");
    },
    expect: /: context deadline exceeded/,
    timeoutMs: 200,
  },
  silence: { does: () => {}, expect: /: context deadline exceeded/, timeoutMs: 100 },
  "a reset at once": {
    does: (socket) => socket.once("data", () => socket.resetAndDestroy()),
    expect:
      /: (read|write) tcp 127.0.0.1:\d+: (read: connection reset by peer|write: broken pipe)$|: EOF$/,
  },
  "a reset in the middle of the body": {
    does: (socket) => {
      socket.once("data", () =>
        socket.write(`${HEAD}Content-Length: 50\r\n\r\nhalf`, () => socket.resetAndDestroy()),
      );
    },
    expect: /: read tcp 127.0.0.1:\d+: read: connection reset by peer$/,
  },
  "a close without a word": {
    does: (socket) => socket.once("data", () => socket.end()),
    expect: /: EOF$/,
  },
  "a close in the middle of the head": {
    does: (socket) => socket.once("data", () => socket.end("HTTP/1.1 200 O")),
    expect: /: unexpected EOF$/,
  },
  "binary noise": {
    does: (socket) => socket.once("data", () => socket.end(Buffer.from([0, 1, 255, 10, 13]))),
    expect: /: malformed HTTP response "/,
  },
  "an answer before the question": {
    does: (socket) => socket.end(`${HEAD}Content-Length: 2\r\n\r\nhi`),
    expect: { status: 200, body: "hi" },
  },
  "more than it announced": {
    does: (socket) => socket.once("data", () => pour(socket, `${HEAD}Content-Length: 2\r\n\r\nhi`)),
    expect: { status: 200, body: "hi" },
  },
};

for (const [name, hostile] of Object.entries(HOSTILE)) {
  test(`HttpClient survives ${name}`, async () => {
    const port = await serveRaw(hostile.does);
    const answer = await get(`http://127.0.0.1:${port}/`, {
      timeoutMs: hostile.timeoutMs ?? 10_000,
    });
    if (hostile.expect instanceof RegExp) {
      assert.notEqual(answer.kind, "response");
      assert.match(answer.kind === "response" ? "" : answer.message, hostile.expect);
      assert.equal(answer.kind, hostile.timeoutMs === undefined ? "failure" : "timeout");
    } else {
      assert.deepEqual(answer, response(hostile.expect.status, hostile.expect.body));
    }
    for (let i = 0; i < 500 && sockets.size > 0; i += 1)
      await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(sockets.size, 0, "the connection is cut");
  });
}

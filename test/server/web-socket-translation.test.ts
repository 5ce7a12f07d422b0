// Commands and tunnels over WebSockets, before a scripted streaming server of SPDY.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket, WebSocketServer } from "ws";
import { OutsideError } from "../../src/kit/errors.ts";
import type { Exchange } from "../../src/outside/net/serve/listen.ts";
import type { CommandStreams } from "../../src/outside/net/streams/remote-command.ts";
import { encodeData, encodePing, SpdyDecoder } from "../../src/outside/net/streams/spdy-frames.ts";
import { requestUpgrade, spdyUpgradeRequest } from "../../src/outside/net/streams/upgrade-proxy.ts";
import { joinTunnel } from "../../src/outside/net/streams/web-socket-tunnel.ts";
import { listenOn, rawAnswer, start } from "./http.ts";
import { gathered, onChannel, onOpen, openWebSocket, statusOf } from "./web-socket-client.ts";

const V5 = "v5.channel.k8s.io";
const TUNNEL = "SPDY/3.1+portforward.k8s.io";
const ALL: CommandStreams = { stdin: true, stdout: true, stderr: true, tty: false };
/** Streams in the order they are opened. */
const STREAM = { error: 1, stdin: 3, stdout: 5, stderr: 7 } as const;

/** What a test sees of the connection of the agent. */
interface Far {
  readonly socket: Socket;
  /** What was asked, and the frames before any was answered. */
  readonly head: string;
}

/** A streaming server that switches, and leaves the rest to `serve`. */
function farServer(serve: (far: Far) => void, streamProtocol = "v4.channel.k8s.io"): Server {
  return createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    socket.once("data", (head: Buffer) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${streamProtocol}\r\n\r\n`,
      );
      serve({ socket, head: head.toString() });
    });
  });
}

const reply = (streamId: number) => Buffer.from([0x80, 3, 0, 2, 0, 0, 0, 4, 0, 0, 0, streamId]);

/** Accepts the streams and hands on what comes on them. */
function accept(
  socket: Socket,
  onData: (streamId: number, bytes: Uint8Array, last: boolean) => void,
): void {
  const decoder = new SpdyDecoder();
  for (const id of Object.values(STREAM)) socket.write(reply(id));
  socket.on("data", (chunk: Buffer) => {
    for (const frame of decoder.push(chunk))
      if (frame.kind === "data") onData(frame.streamId, frame.bytes, frame.last);
  });
}

const send = (socket: Socket, streamId: number, bytes: Uint8Array | string, last = false) => {
  for (const frame of encodeData(streamId, Buffer.from(bytes), last)) socket.write(frame);
};

/** The end of a command as containerd brings it. */
function endAll(socket: Socket, status: string): void {
  send(socket, STREAM.error, status, true);
  send(socket, STREAM.stdout, "", true);
  send(socket, STREAM.stderr, "", true);
}

/** A listener whose requests go to `server`. */
async function behind(server: Server, act: (exchange: Exchange, url: string) => Promise<void>) {
  const port = await listenOn(server);
  const started = await start(async (exchange) => {
    try {
      await act(exchange, `http://127.0.0.1:${port}/exec/TOKEN`);
    } catch (error) {
      if (!(error instanceof OutsideError) || exchange.status !== undefined) throw error;
      await exchange.reply(500, {}, error.message);
    }
  });
  return {
    port: started.port,
    problems: started.problems,
    [Symbol.asyncDispose]: async () => {
      await started[Symbol.asyncDispose]();
      server.close();
    },
  };
}

const command = (server: Server, idleMs = 0) =>
  behind(server, (exchange, url) => exchange.proxyCommand(url, ALL, idleMs));
const tunnel = (server: Server) =>
  behind(server, (exchange, url) => exchange.proxyTunnel(url, ["portforward.k8s.io"], 0));

const open = (port: number, protocol = V5) =>
  openWebSocket(`ws://127.0.0.1:${port}/`, protocol).webSocket;

const SUCCESS = '{"metadata":{},"status":"Success"}';

describe("proxyCommand", () => {
  test("input ends with CLOSE and everything comes back before the status", async () => {
    const heads: string[] = [];
    const server = farServer(({ socket, head }) => {
      heads.push(head);
      accept(socket, (streamId, bytes, last) => {
        if (streamId !== STREAM.stdin) return;
        send(socket, STREAM.stdout, bytes);
        if (last) endAll(socket, SUCCESS);
      });
      socket.write(encodePing(2));
    });
    await using listener = await command(server);
    const { webSocket, chosen } = openWebSocket(`ws://127.0.0.1:${listener.port}/`, V5);
    const all = gathered(webSocket);
    assert.equal(await chosen, V5);
    await onOpen(webSocket);
    const sent = randomBytes(3 * 1024 * 1024);
    for (let at = 0; at < sent.length; at += 100_000)
      webSocket.send(onChannel(0, sent.subarray(at, at + 100_000)));
    webSocket.send(Buffer.of(255, 0));
    webSocket.send(onChannel(0, Buffer.from("too late")));
    const end = await all;
    assert.equal(end.code, 1000);
    assert.ok(end.channels.get(1)?.equals(sent));
    assert.deepEqual(statusOf(end), { metadata: {}, status: "Success" });
    assert.match(heads[0] ?? "", /^POST \/exec\/TOKEN HTTP\/1\.1\r\n/);
    assert.match(heads[0] ?? "", /x-stream-protocol-version: v4\.channel\.k8s\.io\r\n/i);
    assert.doesNotMatch(heads[0] ?? "", /sec-websocket/i);
    assert.deepEqual(listener.problems, []);
  });

  test("input is held back until the streams are accepted, and an empty message comes first", async () => {
    const server = farServer(({ socket }) => {
      let early = 0;
      const count = (chunk: Buffer) => {
        early += new SpdyDecoder().push(chunk).filter(({ kind }) => kind === "data").length;
      };
      socket.on("data", count);
      setTimeout(() => {
        socket.off("data", count);
        send(socket, STREAM.stderr, `early: ${early}`);
        accept(socket, (_, bytes) => {
          send(socket, STREAM.stdout, bytes);
          endAll(socket, "");
        });
      }, 200);
    });
    await using listener = await command(server);
    const webSocket = open(listener.port);
    const first = new Promise<Buffer>((resolve) => webSocket.once("message", resolve));
    const all = gathered(webSocket);
    await onOpen(webSocket);
    webSocket.send(onChannel(0, Buffer.from("hello")));
    assert.deepEqual([...(await first)], [1]);
    const end = await all;
    assert.equal(end.channels.get(2)?.toString(), "early: 0");
    assert.equal(end.channels.get(1)?.toString(), "hello");
    assert.equal(statusOf(end)["status"], "Success");
  });

  const exit3 =
    '{"metadata":{},"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}';
  const ends: readonly (readonly [string, (socket: Socket) => void, RegExp])[] = [
    ["an exit code", (socket) => endAll(socket, exit3), /"reason":"ExitCode","message":"3"/],
    [
      "streams that are reset",
      (socket) => {
        for (const id of Object.values(STREAM))
          socket.write(Buffer.from([0x80, 3, 0, 3, 0, 0, 0, 8, 0, 0, 0, id, 0, 0, 0, 5]));
      },
      /"status":"Success"/,
    ],
    ["a connection that ends", (socket) => socket.end(), /closed the connection/],
    ["a connection that is cut", (socket) => socket.resetAndDestroy(), /"InternalError"/],
    [
      "a status before the connection ends",
      (socket) => {
        send(socket, STREAM.error, exit3);
        socket.end();
      },
      /"reason":"ExitCode","message":"3"/,
    ],
    ["no SPDY", (socket) => socket.write(Buffer.of(0x80, 2, 0, 6, 0, 0, 0, 0)), /SPDY version 2/],
    [
      "a status without end",
      (socket) => send(socket, STREAM.error, Buffer.alloc(100_000)),
      /longer than 65536 bytes/,
    ],
  ];
  for (const [name, end, expected] of ends)
    test(`the status describes ${name}`, async () => {
      const server = farServer(({ socket }) => {
        accept(socket, () => {});
        end(socket);
      });
      await using listener = await command(server);
      const { channels, code } = await gathered(open(listener.port));
      assert.equal(code, 1000);
      assert.match(channels.get(3)?.toString() ?? "", expected);
    });

  test("the status describes a streaming server that does not switch", async () => {
    const server = createServer((socket) => {
      socket.once("data", () =>
        socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"),
      );
    });
    await using listener = await command(server);
    const end = await gathered(open(listener.port));
    assert.match(String(statusOf(end)["message"]), /unable to upgrade connection: gone/);
  });

  test("a client that breaks the protocol is closed, and the runtime let go", async () => {
    let closed: Promise<unknown> | undefined;
    const server = farServer(({ socket }) => {
      accept(socket, () => {});
      closed = new Promise((resolve) => socket.once("close", resolve));
      socket.once("end", () => socket.end());
    });
    await using listener = await command(server);
    const webSocket = open(listener.port);
    const all = gathered(webSocket);
    await onOpen(webSocket);
    webSocket.send(Buffer.of(255, 0, 0));
    assert.equal((await all).code, 1002);
    await closed;
  });

  test("a connection on which nothing moves is cut on both sides", async () => {
    const { promise: letGo, resolve: onLetGo } = Promise.withResolvers<void>();
    const server = farServer(({ socket }) => {
      accept(socket, () => {});
      socket.once("end", () => socket.end());
      socket.once("close", () => onLetGo());
    });
    await using listener = await command(server, 100);
    const webSocket = open(listener.port);
    assert.equal(await new Promise((resolve) => webSocket.once("close", resolve)), 1006);
    await letGo;
  });

  test("a request that is no upgrade to a WebSocket is answered with the reason", async () => {
    await using listener = await command(farServer(() => {}));
    const answer = await rawAnswer(
      listener.port,
      `GET / HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\nSec-WebSocket-Protocol: ${V5}\r\n\r\n`,
    );
    assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*Sec-WebSocket-Key/);
  });

  test("a client that does not read holds the runtime back, and nobody else", async () => {
    let written = 0;
    const server = farServer(({ socket }) => {
      accept(socket, () => {});
      const [frame = Buffer.alloc(0)] = encodeData(STREAM.stdout, Buffer.alloc(32 * 1024), false);
      const pour = () => {
        while (written < 64 * 1024 * 1024 && socket.write(frame)) written += frame.length;
        if (written >= 64 * 1024 * 1024) endAll(socket, SUCCESS);
        else socket.once("drain", pour);
      };
      pour();
    });
    await using listener = await command(server);
    const stalled = open(listener.port);
    await onOpen(stalled);
    stalled.pause();
    const settled = async () => {
      for (let before = -1; before !== written; ) {
        before = written;
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      return written;
    };
    const held = await settled();
    assert.ok(held < 48 * 1024 * 1024, `${held} bytes were taken for a client that reads none`);
    let bytes = 0;
    stalled.on("message", (message: Buffer) => {
      if (message[0] === 1) bytes += message.length - 1;
    });
    const ended = new Promise((resolve) => stalled.once("close", resolve));
    stalled.resume();
    await ended;
    assert.ok(bytes > held, "it goes on when the client reads");
  });

  test("a runtime that does not read holds the client back", async () => {
    const server = farServer(({ socket }) => {
      accept(socket, () => {});
      socket.pause();
    });
    await using listener = await command(server);
    const webSocket = open(listener.port);
    await onOpen(webSocket);
    for (let i = 0; i < 64; i += 1) webSocket.send(onChannel(0, Buffer.alloc(1024 * 1024)));
    for (let before = -1; before !== webSocket.bufferedAmount; ) {
      before = webSocket.bufferedAmount;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    assert.ok(
      webSocket.bufferedAmount > 16 * 1024 * 1024,
      `${webSocket.bufferedAmount} bytes wait`,
    );
    webSocket.terminate();
  });
});

describe("proxyTunnel", () => {
  test("messages are bytes of the connection, both ways, and either end is passed on", async () => {
    const heads: string[] = [];
    const server = farServer(({ socket, head }) => {
      heads.push(head);
      socket.on("data", (chunk: Buffer) => socket.write(chunk));
      socket.on("end", () => socket.end());
    }, "portforward.k8s.io");
    await using listener = await tunnel(server);
    const { webSocket, chosen } = openWebSocket(`ws://127.0.0.1:${listener.port}/`, TUNNEL);
    assert.equal(await chosen, TUNNEL);
    await onOpen(webSocket);
    const sent = randomBytes(3 * 1024 * 1024);
    const got = createHash("sha256");
    let size = 0;
    const back = new Promise<void>((resolve) => {
      webSocket.on("message", (message: Buffer) => {
        got.update(message);
        size += message.length;
        if (size === sent.length) resolve();
      });
    });
    for (let at = 0; at < sent.length; at += 50_000) webSocket.send(sent.subarray(at, at + 50_000));
    await back;
    assert.equal(got.digest("hex"), createHash("sha256").update(sent).digest("hex"));
    assert.match(heads[0] ?? "", /x-stream-protocol-version: portforward\.k8s\.io\r\n/i);
    webSocket.close();
    await new Promise((resolve) => webSocket.once("close", resolve));
    assert.deepEqual(listener.problems, []);
  });

  test("the end of the runtime's connection closes the WebSocket behind what came before", async () => {
    const server = farServer(({ socket }) => socket.end("last words"), "portforward.k8s.io");
    await using listener = await tunnel(server);
    const webSocket = open(listener.port, TUNNEL);
    let text = "";
    webSocket.on("message", (message: Buffer) => {
      text += message.toString();
    });
    const code = await new Promise((resolve) => webSocket.once("close", resolve));
    assert.deepEqual([text, code], ["last words", 1000]);
  });

  test("a connection that the runtime resets before the client is answered ends the WebSocket", async () => {
    const far = farServer(({ socket }) => setTimeout(() => socket.resetAndDestroy(), 10));
    const url = new URL(`http://127.0.0.1:${await listenOn(far)}/`);
    const { signal } = new AbortController();
    const answer = await requestUpgrade(
      { url },
      spdyUpgradeRequest(["portforward.k8s.io"]),
      signal,
    );
    assert.ok(answer.kind === "switched");
    while (!answer.socket.destroyed) await sleep(5);
    const near = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    const joined = new Promise<void>((resolve) => {
      near.once("connection", (webSocket) => resolve(joinTunnel(webSocket, answer, signal)));
    });
    await once(near, "listening");
    const webSocket = new WebSocket(`ws://127.0.0.1:${(near.address() as AddressInfo).port}/`);
    const [code] = await once(webSocket, "close");
    assert.equal(code, 1006);
    await joined;
    near.close();
    far.close();
  });

  test("text is no SPDY", async () => {
    await using listener = await tunnel(farServer(() => {}, "portforward.k8s.io"));
    const webSocket = open(listener.port, TUNNEL);
    await onOpen(webSocket);
    webSocket.send("text");
    assert.equal(await new Promise((resolve) => webSocket.once("close", resolve)), 1003);
  });

  test("a refusal of the streaming server is passed on", async () => {
    const server = createServer((socket) => {
      socket.once("data", () =>
        socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"),
      );
    });
    await using listener = await tunnel(server);
    const webSocket = open(listener.port, TUNNEL);
    webSocket.on("error", () => {});
    const status = await new Promise((resolve) => {
      webSocket.on("unexpected-response", (_, refused) => resolve(refused.statusCode));
    });
    assert.equal(status, 404);
  });
});

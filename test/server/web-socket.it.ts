// Commands and port-forwards over the newer WebSocket protocols, on a node in a box, with real containerd.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { connect as tlsConnect } from "node:tls";
import type { WebSocket } from "ws";
import {
  encodeData,
  encodeSynStream,
  SpdyDecoder,
} from "../../src/outside/net/streams/spdy-frames.ts";
import { podName, ServedNode } from "./node.ts";
import {
  gathered,
  type Opening,
  onChannel,
  onOpen,
  openWebSocket,
  statusOf,
} from "./web-socket-client.ts";

const V5 = "v5.channel.k8s.io";
const TUNNEL = "SPDY/3.1+portforward.k8s.io";
const CLOSE_STDIN = Buffer.of(255, 0);

let node: ServedNode;
before(async () => {
  node = await ServedNode.start();
  node.run("idle", "exec sleep 1000000");
  node.run("asks", "while read line; do echo got $line; done; echo closed; exec sleep 1000000", {
    stdin: true,
    stdinOnce: true,
  });
  node.run("echoes", "serve-tcp 9090");
  for (const name of ["idle", "asks", "echoes"]) await node.untilReady(name);
});
after(() => node[Symbol.asyncDispose]());

const exec = (...command: readonly string[]) =>
  `/exec/default/${podName("idle")}/c?${command.map((word) => `command=${encodeURIComponent(word)}`).join("&")}`;

/** Opens a WebSocket over the HTTPS port. */
function open(path: string, protocol = V5): Opening {
  return openWebSocket(`wss://node${path}`, protocol, {
    createConnection: () =>
      tlsConnect({ path: node.httpsPath, rejectUnauthorized: false, ...node.master }),
  });
}

/** Resolves when a channel has brought what `expected` matches. */
function until(webSocket: WebSocket, channel: number, expected: RegExp): Promise<void> {
  let text = "";
  return new Promise((resolve, reject) => {
    webSocket.on("message", (message: Buffer) => {
      if (message[0] !== channel) return;
      text += message.subarray(1).toString();
      if (expected.test(text)) resolve();
    });
    webSocket.once("close", () => reject(new Error(`closed; its output: ${text}`)));
  });
}

describe("v5.channel.k8s.io", () => {
  const openings: readonly (readonly [string, (path: string) => Opening])[] = [
    ["the HTTPS port", (path) => open(path, `${V5},v4.channel.k8s.io`)],
    ["the agent's socket", (path) => openWebSocket(`ws+unix:${node.socketPath}:${path}`, V5)],
  ];
  for (const [where, opened] of openings)
    test(`exec over ${where}: input ends, and everything has come back`, async () => {
      const { webSocket, chosen } = opened(`${exec("cat")}&input=1&output=1`);
      const all = gathered(webSocket);
      await onOpen(webSocket);
      assert.equal(await chosen, V5);
      const sent = randomBytes(1024 * 1024);
      for (let at = 0; at < sent.length; at += 32 * 1024)
        webSocket.send(onChannel(0, sent.subarray(at, at + 32 * 1024)));
      webSocket.send(CLOSE_STDIN);
      const end = await all;
      assert.deepEqual(statusOf(end), { metadata: {}, status: "Success" });
      assert.ok(end.channels.get(1)?.equals(sent), `${end.channels.get(1)?.length} bytes`);
      assert.equal(end.code, 1000);
    });

  test("exec returns the exit code, and keeps the outputs apart", async () => {
    const path = `${exec("sh", "-c", "echo out; echo err >&2; exit 3")}&output=1&error=1`;
    const end = await gathered(open(path).webSocket);
    assert.equal(end.channels.get(1)?.toString(), "out\n");
    assert.equal(end.channels.get(2)?.toString(), "err\n");
    const status = statusOf(end);
    assert.equal(status["reason"], "NonZeroExitCode");
    assert.deepEqual(status["details"], { causes: [{ reason: "ExitCode", message: "3" }] });
  });

  test("exec of a missing program returns the runtime's message", async () => {
    const end = await gathered(open(`${exec("/no/such/command")}&output=1`).webSocket);
    assert.equal(statusOf(end)["status"], "Failure");
    assert.match(String(statusOf(end)["message"]), /no such command|no such file/i);
  });

  test("a terminal gets the sizes of the client's", async () => {
    const script = 'until [ "$(stty size)" = "33 91" ]; do sleep 0.1; done; echo it fits';
    const { webSocket } = open(`${exec("sh", "-c", script)}&input=1&output=1&tty=1`);
    const all = gathered(webSocket);
    await onOpen(webSocket);
    webSocket.send(onChannel(4, '{"Width":80,"Height":24}'));
    webSocket.send(onChannel(4, '{"Width":91,"Height":33}'));
    const end = await all;
    assert.match(end.channels.get(1)?.toString() ?? "", /it fits\r\n/);
    assert.equal(statusOf(end)["status"], "Success");
  });

  test("attach: what the container reads and writes, and the end of its input", async () => {
    const { webSocket } = open(`/attach/default/${podName("asks")}/c?input=1&output=1`);
    await onOpen(webSocket);
    const answered = until(webSocket, 1, /got hello\n/);
    const closed = until(webSocket, 1, /closed\n/);
    webSocket.send(onChannel(0, "hello\n"));
    await answered;
    webSocket.send(CLOSE_STDIN);
    await closed;
    webSocket.close();
  });

  test("a client that does not read stalls only itself", async () => {
    const bytes = 48 * 1024 * 1024;
    const stalled = open(`${exec("head", "-c", String(bytes), "/dev/zero")}&output=1`).webSocket;
    await onOpen(stalled);
    stalled.pause();
    for (let i = 0; i < 3; i += 1) {
      const end = await gathered(open(`${exec("echo", "well")}&output=1`).webSocket);
      assert.equal(end.channels.get(1)?.toString(), "well\n");
    }
    const all = gathered(stalled);
    stalled.resume();
    const end = await all;
    assert.equal(statusOf(end)["status"], "Success");
    // What came before it was paused was not gathered: the empty message at most, and a little more.
    assert.ok((end.channels.get(1)?.length ?? 0) > bytes - 4 * 1024 * 1024);
  });
});

describe("SPDY inside a WebSocket", () => {
  test("port-forward reaches a port of the pod", async () => {
    const { webSocket, chosen } = open(`/portForward/default/${podName("echoes")}`, TUNNEL);
    await onOpen(webSocket);
    assert.equal(await chosen, TUNNEL);
    const decoder = new SpdyDecoder();
    const replied = new Set<number>();
    const got: Buffer[] = [];
    let size = 0;
    const sent = randomBytes(300_000);
    const { promise: accepted, resolve: onAccepted } = Promise.withResolvers<void>();
    const { promise: echoed, resolve: onEchoed } = Promise.withResolvers<void>();
    webSocket.on("message", (message: Buffer) => {
      for (const frame of decoder.push(message)) {
        if (frame.kind === "reply") replied.add(frame.streamId);
        if (replied.size === 2) onAccepted();
        if (frame.kind !== "data" || frame.streamId !== 3) continue;
        got.push(Buffer.from(frame.bytes));
        size += frame.bytes.length;
        if (size >= sent.length) onEchoed();
      }
    });
    const headers = { port: "9090", requestid: "0" };
    webSocket.send(encodeSynStream(1, { streamtype: "error", ...headers }, true));
    for (const frame of encodeData(1, Buffer.alloc(0), true)) webSocket.send(frame);
    webSocket.send(encodeSynStream(3, { streamtype: "data", ...headers }, false));
    await accepted;
    for (const frame of encodeData(3, sent, false)) webSocket.send(frame);
    await echoed;
    assert.ok(Buffer.concat(got).equals(sent));
    webSocket.close();
    await new Promise((resolve) => webSocket.once("close", resolve));
  });

  test("requests are counted", async () => {
    const { body } = await node.local("/metrics");
    for (const subresource of ["exec", "attach", "portforward"])
      assert.match(
        body,
        new RegExp(
          `^kubelet_websocket_streaming_requests_total\\{subresource="${subresource}"\\} [1-9]`,
          "m",
        ),
      );
  });
});

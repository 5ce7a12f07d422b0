// The client against real servers on real sockets.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type WebSocket, WebSocketServer } from "ws";
import { type FakeIo, fakeIo } from "../../test/cli/fake-io.ts";
import { CliError } from "../present/cli-error.ts";
import { AgentClient, replyRefusalText } from "./agent-client.ts";
import { changesOf } from "./changes.ts";
import { followNode } from "./follow-node.ts";
import type { NodePicture } from "./node-picture.ts";
import { exitCodeOf, runRemote } from "./remote-command.ts";

interface Served extends AsyncDisposable {
  readonly socketPath: string;
  readonly sockets: WebSocketServer;
}

/** A server on a unix socket; WebSockets take the newest protocol of `protocols` that is offered. */
async function serve(
  onRequest: RequestListener,
  protocols: readonly string[] = ["v4.channel.k8s.io"],
): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-client-"));
  const socketPath = join(folder, "agent.sock");
  const server = createServer(onRequest);
  const sockets = new WebSocketServer({
    server,
    handleProtocols: (offered) => protocols.find((name) => offered.has(name)) ?? false,
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    socketPath,
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const isError = (exitCode: number, message: RegExp) => (thrown: unknown) =>
  thrown instanceof CliError && thrown.exitCode === exitCode && message.test(thrown.message);

test("`AgentClient` reads JSON and says why something was refused", async () => {
  await using served = await serve((request, response) => {
    if (request.url === "/ok") response.end('{"a":1}');
    else if (request.url === "/status") {
      response.statusCode = 404;
      response.end('{"kind":"Status","code":404,"message":"no such pod"}');
    } else if (request.url === "/text") {
      response.statusCode = 400;
      response.end("container is waiting to start\n");
    } else if (request.url === "/broken") response.end("{");
    else request.socket.destroy();
  });
  const client = new AgentClient(served.socketPath);
  assert.deepEqual(await client.json("/ok"), { a: 1 });
  await assert.rejects(client.json("/status"), isError(3, /^no such pod$/));
  await assert.rejects(client.json("/text"), isError(1, /^container is waiting to start$/));
  await assert.rejects(client.json("/broken"), isError(1, /not JSON/));
  await assert.rejects(client.json("/gone"), isError(4, /connection to the agent broke/));
});

test("`AgentClient` knows an agent that does not run", async () => {
  const nowhere = new AgentClient(join(tmpdir(), "nodelet-no-such.sock"));
  await assert.rejects(nowhere.json("/"), isError(4, /the agent is not running .*nodelet-no-such/));
  const { socketPath } = await (async () => {
    await using served = await serve((_, response) => response.end());
    return served;
  })();
  await assert.rejects(new AgentClient(socketPath).json("/"), isError(4, /is not running/));
});

test("`refusalText` takes the message out of whatever holds it", () => {
  assert.equal(replyRefusalText('{"message":"m"}'), "m");
  assert.equal(replyRefusalText('{"error":"e"}'), "e");
  assert.equal(replyRefusalText("plain\n"), "plain");
  assert.equal(replyRefusalText("x".repeat(1000)).length, 500);
});

test("`changesOf` passes lines on as they come, and over what is not JSON", async () => {
  await using served = await serve((_, response) => {
    response.write('{"kind":"alive"}\n{"kind":"syn');
    setImmediate(() => response.end('ced"}\nnonsense\n\n{"kind":"alive"}\n'));
  });
  const kinds: string[] = [];
  const { signal } = new AbortController();
  for await (const { kind } of changesOf(new AgentClient(served.socketPath), signal))
    kinds.push(kind);
  assert.deepEqual(kinds, ["alive", "synced", "alive"]);
});

test("`followNode` waits for an unreachable agent, and reports that", async () => {
  let answers = 0;
  const overview = { node: "edge-1", problems: 0 };
  await using served = await serve((request, response) => {
    if (request.url === "/nodelet/v1/problems") return void response.end('{"items":[]}');
    answers += 1;
    response.write(`${JSON.stringify({ kind: "overview", overview })}\n`);
    response.write('{"kind":"pod","pod":{"metadata":{"uid":"u","name":"a"}}}\n{"kind":"synced"}\n');
    // The first agent dies, the second one stays.
    if (answers === 1) setTimeout(() => response.destroy(), 20);
  });
  const leave = new AbortController();
  const seen: string[] = [];
  const onPicture = ({ overview: known, pods }: NodePicture) => {
    seen.push(`${known?.node ?? "away"} ${pods.size}`);
    if (seen.length === 3) leave.abort();
  };
  await followNode(new AgentClient(served.socketPath), onPicture, leave.signal);
  assert.deepEqual(seen, ["edge-1 1", "away 1", "edge-1 1"]);
});

/** Runs a command against `onSocket` and gives what came of it. */
async function remote(
  options: { stdin?: string; tty?: boolean; protocols?: readonly string[] },
  onSocket: (socket: WebSocket) => void,
): Promise<{ code: number; io: FakeIo }> {
  const refuse: RequestListener = (_, response) => response.end();
  await using served = await serve(refuse, options.protocols ?? ["v4.channel.k8s.io"]);
  served.sockets.on("connection", onSocket);
  const io = fakeIo();
  if (options.stdin !== undefined) io.stdin.end(options.stdin);
  const { socketPath } = served;
  const stdin = options.stdin !== undefined;
  const command = {
    socketPath,
    path: "/exec/a/b/c?command=x%3Ay",
    stdin,
    tty: options.tty === true,
  };
  return { code: await runRemote(command, io), io };
}

const message = (channel: number, text: string) =>
  Buffer.concat([Buffer.of(channel), Buffer.from(text)]);
const exitStatus = (code: number) =>
  JSON.stringify({
    status: "Failure",
    reason: "NonZeroExitCode",
    message: `command terminated with non-zero exit code: ${code}`,
    details: { causes: [{ reason: "ExitCode", message: `${code}` }] },
  });

test("`runRemote` keeps the outputs apart and gives the command's code", async () => {
  const { code, io } = await remote({}, (socket) => {
    socket.send(message(1, ""));
    socket.send(message(1, "out\n"));
    socket.send(message(2, "err\n"));
    socket.send(message(3, exitStatus(7)));
    socket.close();
  });
  assert.equal(code, 7);
  assert.equal(io.out(), "out\n");
  assert.equal(io.err(), "err\n");
});

test("`runRemote` passes input and its end on, where the runtime supports it", async () => {
  const echo = (socket: WebSocket) => {
    socket.on("message", (data: Buffer) => {
      if (data[0] === 0) socket.send(message(1, data.subarray(1).toString()));
      if (data[0] === 255) {
        assert.deepEqual([...data], [255, 0]);
        socket.send(message(3, '{"status":"Success"}'));
        socket.close();
      }
    });
  };
  const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
  const { code, io } = await remote({ stdin: "some text", protocols }, echo);
  assert.equal(code, 0);
  assert.equal(io.out(), "some text");
  assert.equal(io.err(), "");
});

test("`runRemote` warns where the end of the input cannot be sent", async () => {
  const { io } = await remote({ stdin: "text" }, (socket) => {
    socket.on("message", () => {
      setTimeout(() => {
        socket.send(message(3, '{"status":"Success"}'));
        socket.close();
      }, 50);
    });
  });
  assert.match(io.err(), /does not support closing standard input/);
});

test("`runRemote` fails when the connection breaks before the command has ended", async () => {
  await assert.rejects(
    remote({}, (socket) => socket.terminate()),
    isError(1, /broke before the command ended/),
  );
});

test("`runRemote` reports why a command is rejected", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-client-"));
  const socketPath = join(folder, "agent.sock");
  const server = createServer((_, response) => {
    response.statusCode = 404;
    response.end("pod does not exist");
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  const command = { socketPath, path: "/exec", stdin: false, tty: false };
  await assert.rejects(runRemote(command, fakeIo()), isError(3, /^pod does not exist$/));
  server.close();
  rmSync(folder, { recursive: true });
  await assert.rejects(runRemote(command, fakeIo()), isError(4, /is not running/));
});

test("`exitCodeOf` reads the status that ends a command", () => {
  assert.equal(exitCodeOf('{"status":"Success"}'), 0);
  assert.equal(exitCodeOf(exitStatus(126)), 126);
  assert.throws(
    () => exitCodeOf('{"status":"Failure","message":"no such container"}'),
    /no such container/,
  );
  assert.throws(() => exitCodeOf("plain words"), /plain words/);
});

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { OutsideError } from "../../src/kit/errors.ts";
import { ask, LIMITS, rawAnswer, start } from "./http.ts";

describe("listenHttp", () => {
  test("hands over method, target, headers and body, and sends the reply", async () => {
    await using server = await start(async (exchange) => {
      const body = Buffer.from(await exchange.readBody(100)).toString();
      const seen = [
        exchange.method,
        exchange.target,
        exchange.headers["x-a"],
        body,
        exchange.client.kind,
      ];
      await exchange.reply(201, { "x-b": "c" }, seen.join("|"));
      assert.equal(exchange.status, 201);
    });
    const answer = await ask(
      { port: server.port, method: "POST", path: "/a%20b?c=d", headers: { "x-a": ["1", "2"] } },
      "hello",
    );
    assert.equal(answer.status, 201);
    assert.equal(answer.headers["x-b"], "c");
    assert.equal(answer.body, "POST|/a%20b?c=d|1, 2|hello|none");
  });

  test("answers HEAD with the length and without the body", async () => {
    await using server = await start((exchange) => exchange.reply(200, {}, "four"));
    const answer = await rawAnswer(
      server.port,
      "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    assert.match(answer, /content-length: 4/i);
    assert.ok(answer.endsWith("\r\n\r\n"));
  });

  test("does not wait for listeners on one connection to pile up", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    await using server = await start((exchange) => exchange.reply(200, {}, "x"));
    const requests = "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(30);
    const answer = await rawAnswer(
      server.port,
      `${requests}GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    assert.equal(answer.split("HTTP/1.1 200 OK").length - 1, 31);
    await sleep(10);
    process.off("warning", onWarning);
    assert.deepEqual(warnings, []);
  });

  test("turns a throw into a 500 without details, or a cut when the reply was begun", async () => {
    await using server = await start(async (exchange) => {
      if (exchange.target === "/late") {
        const stream = exchange.replyStream(200, {});
        await stream.write("begun");
      }
      throw new Error("secret detail");
    });
    const early = await ask({ port: server.port, path: "/early" });
    assert.equal(early.status, 500);
    assert.equal(early.body, "Internal Server Error\n");
    await assert.rejects(ask({ port: server.port, path: "/late" }), /aborted|hang up/);
    assert.deepEqual(
      server.problems.map(({ kind }) => kind),
      ["answer", "answer"],
    );
  });

  test("refuses a body over the limit", async () => {
    await using server = await start(async (exchange) => {
      const error = await exchange.readBody(10).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof OutsideError && error.code === "exhausted");
      await exchange.reply(413, {}, "");
    });
    assert.equal((await ask({ port: server.port, method: "POST" }, "x".repeat(11))).status, 413);
  });

  const hostile: readonly {
    readonly name: string;
    readonly send: string;
    readonly status: RegExp;
  }[] = [
    { name: "no HTTP", send: "SSH-2.0-x\r\n\r\n", status: /^HTTP\/1\.1 400/ },
    {
      name: "a header that is too long",
      send: `GET / HTTP/1.1\r\nHost: x\r\nA: ${"b".repeat(70_000)}\r\n\r\n`,
      status: /^HTTP\/1\.1 431/,
    },
    {
      name: "two lengths",
      send: "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      status: /^HTTP\/1\.1 400/,
    },
    { name: "no host", send: "GET / HTTP/1.1\r\n\r\n", status: /^HTTP\/1\.1 400/ },
  ];
  for (const { name, send, status } of hostile) {
    test(`refuses a request with ${name}`, async () => {
      await using server = await start((exchange) => exchange.reply(200, {}, ""));
      assert.match(await rawAnswer(server.port, send), status);
    });
  }

  test("cuts a peer that sends its header too slowly", async () => {
    await using server = await start((exchange) => exchange.reply(200, {}, ""), {
      limits: { ...LIMITS, headerMs: 200, requestMs: 400 },
    });
    const answer = await rawAnswer(server.port, "GET / HTTP/1.1\r\nHost: x\r\nA:");
    assert.match(answer, /^HTTP\/1\.1 408/);
  });

  test("disconnects a peer that reads nothing of a stream, and the write fails", async () => {
    let failed: unknown;
    let sent = 0;
    await using server = await start(
      async (exchange) => {
        const stream = exchange.replyStream(200, {});
        try {
          for (;;) {
            await stream.write(Buffer.alloc(65_536));
            sent += 65_536;
          }
        } catch (error) {
          failed = error;
          throw error;
        }
      },
      { limits: { ...LIMITS, stalledMs: 300 } },
    );
    const socket = connect(server.port, "127.0.0.1", () =>
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    );
    socket.pause();
    socket.on("error", () => {});
    while (failed === undefined) await sleep(10);
    assert.match(String(failed), /does not read/);
    assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes were taken from a peer that reads nothing`);
    socket.destroy();
  });

  test("aborts the exchange when the peer leaves", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    await using server = await start(async (exchange) => {
      const stream = exchange.replyStream(200, {});
      await stream.write("x");
      exchange.signal.addEventListener("abort", () => resolve(String(exchange.signal.reason)));
      await new Promise(() => {});
    });
    const socket = connect(server.port, "127.0.0.1", () =>
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    );
    socket.once("data", () => socket.destroy());
    assert.match(await promise, /OutsideError/);
  });

  test("ends what is under way when it closes", async () => {
    const server = await start(async (exchange) => {
      const stream = exchange.replyStream(200, {});
      await stream.write("x");
      await new Promise((_, reject) => exchange.signal.addEventListener("abort", reject));
    });
    const answer = ask({ port: server.port });
    answer.catch(() => {});
    await sleep(50);
    await server[Symbol.asyncDispose]();
    await assert.rejects(answer);
    await assert.rejects(ask({ port: server.port }), /ECONNREFUSED/);
  });

  test("says that a port is taken", async () => {
    await using server = await start(async () => {});
    await assert.rejects(
      start(async () => {}, { address: { kind: "tcp", host: "127.0.0.1", port: server.port } }),
      (error) => error instanceof OutsideError && error.code === "alreadyExists",
    );
  });
});

describe("listenHttp on a unix socket", () => {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-listen-"));
  after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "made", "agent.sock");
  const address = { kind: "unix", path } as const;

  test("is for root only, and replaces a socket that nobody answers", async () => {
    const first = await start((exchange) => exchange.reply(200, {}, exchange.peer), { address });
    assert.equal((await ask({ socketPath: path })).body, "unix");
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(join(folder, "made")).mode & 0o777, 0o700);
    await assert.rejects(
      start(async () => {}, { address }),
      /address already in use/,
    );
    await first[Symbol.asyncDispose]();
    const killed = spawn(process.execPath, [
      "-e",
      `require("node:net").createServer().listen(${JSON.stringify(path)}, () => console.log("up"))`,
    ]);
    await new Promise((resolve) => killed.stdout.once("data", resolve));
    killed.kill("SIGKILL");
    await new Promise((resolve) => killed.once("close", resolve));
    assert.ok(statSync(path).isSocket());
    await using _ = await start((exchange) => exchange.reply(200, {}, "again"), { address });
    assert.equal((await ask({ socketPath: path })).body, "again");
  });
});

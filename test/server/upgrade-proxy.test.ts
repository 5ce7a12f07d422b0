import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { connect, createServer, type Socket } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { OutsideError } from "../../src/kit/errors.ts";
import { listenOn, rawAnswer, start } from "./http.ts";

describe("proxyUpgrade", () => {
  /** A streaming server that switches, says hello at once, echoes, and ends with the client. */
  const echo = () =>
    createServer({ allowHalfOpen: true }, (socket) => {
      socket.on("error", () => {});
      socket.once("data", (head: Buffer) => {
        const text = head.toString();
        const early = text.slice(text.indexOf("\r\n\r\n") + 4);
        socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\nhello:${early}`,
        );
        heads.push(text);
        socket.pipe(socket);
      });
    });
  const heads: string[] = [];
  const answering = (text: string) =>
    createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(text));
    });
  const HEAD = `POST /exec HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nAuthorization: Bearer secret\r\nX-Stream-Protocol-Version: v5.channel.k8s.io\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\nContent-Length: 0\r\n\r\n`;

  test("copies every byte both ways, and leaves credentials out", async () => {
    const runtime = echo();
    const port = await listenOn(runtime);
    await using server = await start(async (exchange) => {
      assert.equal(exchange.upgrade, "spdy/3.1");
      await exchange.proxyUpgrade(`http://127.0.0.1:${port}/exec/TOKEN?x=1`, 0);
      assert.equal(exchange.status, 101);
    });
    const sent = randomBytes(8 * 1024 * 1024);
    const got = createHash("sha256");
    let size = 0;
    let head = "";
    await new Promise<void>((resolve, reject) => {
      const socket: Socket = connect(
        { port: server.port, host: "127.0.0.1", allowHalfOpen: true },
        () => {
          socket.write(HEAD);
          socket.end(sent);
        },
      );
      socket.on("error", reject);
      socket.on("data", (chunk: Buffer) => {
        let rest = chunk;
        if (!head.includes("\r\n\r\nhello:")) {
          head += chunk.toString("latin1");
          const at = head.indexOf("\r\n\r\nhello:");
          if (at < 0) return;
          rest = Buffer.from(head.slice(at + 10), "latin1");
          head = head.slice(0, at + 10);
        }
        got.update(rest);
        size += rest.length;
      });
      socket.on("end", () => resolve());
    });
    assert.match(head, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
    assert.match(head, /X-Stream-Protocol-Version: v4/);
    assert.equal(size, sent.length);
    assert.equal(got.digest("hex"), createHash("sha256").update(sent).digest("hex"));
    const [seen = ""] = heads;
    assert.match(seen, /^POST \/exec\/TOKEN\?x=1 HTTP\/1\.1\r\n/);
    assert.equal(seen.match(/x-stream-protocol-version/gi)?.length, 2);
    assert.match(seen, new RegExp(`host: 127.0.0.1:${port}`, "i"));
    assert.doesNotMatch(seen, /secret/);
    runtime.close();
  });

  const refusals: readonly {
    readonly name: string;
    readonly answer: string;
    readonly expect: RegExp;
  }[] = [
    {
      name: "an error",
      answer: "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone",
      expect: /^HTTP\/1\.1 404 Not Found\r\n[\s\S]*\r\n\r\ngone$/,
    },
    {
      name: "a redirect",
      answer: "HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nContent-Length: 0\r\n\r\n",
      expect: /^HTTP\/1\.1 500 [\s\S]*invalid upgrade response: status code 302$/,
    },
    {
      name: "an ordinary answer",
      answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
      expect: /^HTTP\/1\.1 500 [\s\S]*invalid upgrade response: status code 200$/,
    },
    { name: "nothing", answer: "", expect: /^HTTP\/1\.1 500 [\s\S]*streaming server/ },
  ];
  for (const { name, answer, expect } of refusals) {
    test(`passes on ${name} of the streaming server without following it`, async () => {
      const runtime = answering(answer);
      const port = await listenOn(runtime);
      await using server = await start(async (exchange) => {
        try {
          await exchange.proxyUpgrade(`http://127.0.0.1:${port}/`, 0);
        } catch (error) {
          await exchange.reply(500, {}, error instanceof OutsideError ? error.message : "");
        }
      });
      const seen = await rawAnswer(server.port, HEAD);
      assert.match(seen, expect);
      assert.doesNotMatch(seen, /Location/i);
      runtime.close();
    });
  }

  test("refuses addresses that are not loopback", async () => {
    const urls = [
      "http://10.0.0.1:1/",
      "http://evil.test/",
      "https://127.0.0.1:1/",
      "http://127.0.0.1.evil.test/",
      "http://[::ffff:10.0.0.1]:1/",
      "http://0.0.0.0:1/",
      "http://user:pass@127.0.0.1/",
      "unix:///run/x",
      "nonsense",
    ];
    let refused = 0;
    await using server = await start(async (exchange) => {
      for (const url of urls) {
        const error = await exchange.proxyUpgrade(url, 0).catch((thrown: unknown) => thrown);
        assert.ok(error instanceof OutsideError && error.code === "denied", `${url}: ${error}`);
        refused += 1;
      }
      await exchange.reply(403, {}, "");
    });
    assert.match(await rawAnswer(server.port, HEAD), /^HTTP\/1\.1 403/);
    assert.equal(refused, urls.length);
  });

  test("cuts a connection on which nothing moves", async () => {
    const runtime = echo();
    const port = await listenOn(runtime);
    await using server = await start((exchange) =>
      exchange.proxyUpgrade(`http://127.0.0.1:${port}/`, 200),
    );
    assert.match(await rawAnswer(server.port, HEAD), /hello:/);
    runtime.close();
  });

  test("ends with the listener", async () => {
    const runtime = echo();
    const port = await listenOn(runtime);
    const server = await start((exchange) => exchange.proxyUpgrade(`http://127.0.0.1:${port}/`, 0));
    const answer = rawAnswer(server.port, HEAD).catch(String);
    await sleep(100);
    await server[Symbol.asyncDispose]();
    assert.match(await answer, /hello:|ECONNRESET/);
    runtime.close();
  });
});

test("a request that was refused a switch does not keep its connection", async () => {
  await using server = await start((exchange) => exchange.reply(403, {}, "no"));
  const text = await new Promise<string>((resolve, reject) => {
    let answer = "";
    // A client that never ends its side.
    const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true }, () =>
      socket.write(
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      ),
    );
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString();
    });
    const probe = setInterval(() => socket.write("x"), 50);
    socket.on("error", () => {});
    socket.on("close", () => {
      clearInterval(probe);
      resolve(answer);
    });
    setTimeout(() => reject(new Error("still open")), 10_000).unref();
  });
  assert.match(text, /^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*no$/);
});

// Requests and watches of the API client over real TLS connections.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { gzipSync } from "node:zlib";
import {
  ApiWorld,
  apiGet as get,
  failsWith as isOutside,
  linesOf,
  NO_ABORT as NEVER,
  type ScriptedPeer,
  SERVER_FRAMES,
  ENDLESS as watch,
} from "../../../../test/support/h2-api-server.ts";
import { blockOf } from "../../../../test/support/http2-peer.ts";
import { OutsideError } from "../../../kit/errors.ts";
import { FRAME, frame } from "../../http2/frames.ts";
import type { ApiRequest } from "./transport.ts";

const { headers, data, reset } = SERVER_FRAMES;

let world: ApiWorld;
beforeEach(() => {
  world = new ApiWorld();
});
afterEach(() => world[Symbol.dispose]());

test("requests say who asks for what, answers are whole", async () => {
  const port = await world.serve((stream, sent, body) => {
    stream.respond([":status", "201", "warning", "299 a", "warning", "299 b", "retry-after", "3"]);
    stream.end(JSON.stringify([sent, `${body}`]));
  });
  const transport = world.connect(port, {
    credentials: {
      token: () => Promise.resolve("secret"),
      headers: { "Impersonate-User": "jürgen" },
    },
  });
  const body = JSON.stringify({ long: "ü".repeat(100_000) });
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"] as const) {
    const hasBody = method !== "GET";
    const reply = await transport.request(
      {
        ...get("/path?a=%20"),
        method,
        ...(hasBody ? { body } : {}),
        ...(method === "PATCH" ? { contentType: "application/merge-patch+json" } : {}),
        headers: { traceparent: "00-1", accept: "not/ours", Authorization: "not ours" },
      },
      NEVER,
    );
    assert.deepEqual([reply.status, reply.headers["retry-after"]], [201, "3"]);
    assert.equal(reply.headers["warning"], "299 a, 299 b");
    const [sent, text] = JSON.parse(reply.body);
    assert.equal(text, hasBody ? body : "");
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    assert.deepEqual(sent, {
      ":method": method,
      ":path": "/prefix/path?a=%20",
      ":scheme": "https",
      ":authority": `127.0.0.1:${port}`,
      accept: "application/json",
      "user-agent": "nodelet-test",
      ...(hasBody ? { "content-type": type } : {}),
      "accept-encoding": "gzip",
      authorization: "Bearer secret",
      // Node reads UTF-8 as latin1.
      "impersonate-user": Buffer.from("jürgen").toString("latin1"),
      traceparent: "00-1",
    });
  }
});

test("answers of any size, compressed or not, with and without a body", async () => {
  const port = await world.serve((stream, { ":path": path }) => {
    const [, , kind, size] = `${path}`.split("/");
    const body = Buffer.from("ü€".repeat(Number(size)));
    stream.respond({ ":status": 200, ...(kind === "gzip" ? { "content-encoding": "gzip" } : {}) });
    stream.end(kind === "gzip" ? gzipSync(body) : body);
  });
  const transport = world.connect(port);
  const sizes = [0, 1, 10_000, 2_000_000];
  const all = sizes.flatMap((size) => [`/plain/${size}`, `/gzip/${size}`]);
  const replies = await Promise.all(all.map((path) => transport.request(get(path), NEVER)));
  replies.forEach(({ body }, index) => {
    const path = all[index] ?? "";
    assert.ok(body === "ü€".repeat(Number(path.split("/")[2])), path);
  });
});

test("an answer that cannot be unpacked is an error", async () => {
  const port = await world.serve((stream) => {
    stream.respond({ ":status": 200, "content-encoding": "gzip" });
    stream.end("not packed");
  });
  const request = world.connect(port).request(get("/"), NEVER);
  await assert.rejects(request, isOutside("invalid", /cannot be unpacked/));
});

test("a header or path with control characters is refused before anything is sent", async () => {
  let streams = 0;
  const port = await world.serve((stream) => {
    streams += 1;
    stream.respond({ ":status": 200 });
    stream.end();
  });
  const cases: readonly (readonly [Partial<ApiRequest>, string])[] = [
    [{ headers: { a: "b\r\nc: d" } }, "ok"],
    [{ path: "/a b" }, "ok"],
    [{ path: "/a\nb" }, "ok"],
    [{ body: "{}", contentType: "text/plain\r\nx: y" }, "ok"],
    [{}, "token\r\nx: y"],
  ];
  for (const [request, token] of cases) {
    const transport = world.connect(port, { credentials: { token: () => Promise.resolve(token) } });
    await assert.rejects(
      transport.request({ ...get("/"), ...request }, NEVER),
      (error) => isOutside("invalid", /cannot be sent/)(error) && !String(error).includes("token"),
    );
  }
  assert.equal(streams, 0);
  assert.equal((await world.connect(port).request(get("/"), NEVER)).status, 200);
});

test("a connection that is cut in the middle of an answer fails it; a GET is sent once more", async () => {
  const peers: ScriptedPeer[] = [];
  const port = await world.script((peer) => {
    peers.push(peer);
    void peer.next(FRAME.headers).then(({ streamId }) => {
      peer.send(headers(streamId), data(streamId, "half"));
      setTimeout(() => peer.socket.destroy(), 10);
    });
  });
  const transport = world.connect(port);
  const patch = { ...get("/"), method: "PATCH", body: "{}" } as const;
  await assert.rejects(
    transport.request(patch, NEVER),
    isOutside("unavailable", /connection lost/),
  );
  assert.equal(peers.length, 1);
  await assert.rejects(transport.request(get("/"), NEVER), isOutside("unavailable"));
  assert.equal(peers.length, 3);
});

test("a server that breaks the protocol, or speaks another, is an error", async () => {
  const bad = await world.script((peer) => peer.send(frame(0, 0, 77, Buffer.from("x"))));
  await assert.rejects(
    world.connect(bad).request({ ...get("/"), method: "POST", body: "{}" }, NEVER),
    isOutside("unavailable", /PROTOCOL_ERROR/),
  );
  const old = await world.script((peer) => peer.socket.destroy(), {
    ALPNProtocols: ["http/1.1"],
  });
  await assert.rejects(
    world.connect(old).request({ ...get("/"), timeoutMs: 500 }, NEVER),
    (error) => error instanceof OutsideError && ["unavailable", "deadline"].includes(error.code),
  );
});

test("a request ends at its deadline and when it is aborted, and its stream is reset", async () => {
  const peers: ScriptedPeer[] = [];
  const port = await world.script((peer) => void peers.push(peer));
  const transport = world.connect(port);
  await assert.rejects(
    transport.request({ ...get("/"), timeoutMs: 300 }, NEVER),
    isOutside("deadline"),
  );
  const leave = new AbortController();
  const asked = transport.request(get("/"), leave.signal);
  const [peer] = peers;
  assert.ok(peer);
  const [one, two] = [await peer.next(FRAME.headers), await peer.next(FRAME.headers)];
  leave.abort(new Error("enough"));
  await assert.rejects(asked, /enough/);
  assert.equal((await peer.next(FRAME.rstStream)).streamId, one.streamId);
  assert.equal((await peer.next(FRAME.rstStream)).streamId, two.streamId);
});

test("a watch gives lines as they come, ends in order, and can be refused", async () => {
  const port = await world.script((peer) => {
    void (async () => {
      const { streamId } = await peer.next(FRAME.headers);
      peer.send(headers(streamId), data(streamId, '{"a":1}\n{"b"'));
      peer.send(data(streamId, ":2}\n"), data(streamId, "rest", true));
      const second = await peer.next(FRAME.headers);
      peer.send(headers(second.streamId), data(second.streamId, "x\n"));
      peer.send(reset(second.streamId, 2));
      const third = await peer.next(FRAME.headers);
      peer.send(frame(FRAME.headers, 4, third.streamId, blockOf({ ":status": "410" })));
      peer.send(data(third.streamId, "gone", true));
    })();
  });
  const transport = world.connect(port);
  const reply = await transport.watch(watch, NEVER);
  assert.ok(reply.kind === "stream");
  const all: string[] = [];
  for await (const line of reply.lines) all.push(line);
  assert.deepEqual(all, ['{"a":1}', '{"b":2}', "rest"]);

  const broken = linesOf(await transport.watch(watch, NEVER));
  assert.equal((await broken.next()).value, "x");
  await assert.rejects(broken.next(), isOutside("unavailable", /INTERNAL_ERROR/));

  const refused = await transport.watch(watch, NEVER);
  assert.ok(refused.kind === "refused");
  assert.deepEqual([refused.reply.status, refused.reply.body], [410, "gone"]);
});

test("a watch that is not read holds its server up, and nobody else", async () => {
  const line = `${"x".repeat(999)}\n`;
  let sent = 0;
  const total = 20_000_000;
  const port = await world.serve((stream, { ":path": path }) => {
    stream.respond({ ":status": 200 });
    if (path !== "/prefix/watch") return void stream.end("other");
    const more = () => {
      while (sent < total) {
        sent += 100_000;
        if (!stream.write(line.repeat(100))) return void stream.once("drain", more);
      }
      stream.end();
    };
    more();
  });
  const transport = world.connect(port);
  const lines = linesOf(await transport.watch(watch, NEVER));
  const settled = async () => {
    for (let before = -1; before !== sent; ) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return sent;
  };
  assert.ok((await settled()) < 3_000_000, `${sent} bytes without a reader`);
  assert.equal((await transport.request(get("/other"), NEVER)).body, "other");
  let count = 0;
  for (let next = await lines.next(); next.done !== true; next = await lines.next()) count += 1;
  assert.equal(count, total / 1000);
});

test("a watch that is left, aborted or past its lifetime is reset", async () => {
  const peers: ScriptedPeer[] = [];
  const port = await world.script((peer) => {
    peers.push(peer);
    void (async () => {
      for (;;) peer.send(headers((await peer.next(FRAME.headers)).streamId));
    })();
  });
  const transport = world.connect(port);
  const left = linesOf(await transport.watch(watch, NEVER));
  await left.return?.();
  const peer = peers[0] as ScriptedPeer;
  assert.equal((await peer.next(FRAME.rstStream)).streamId, 1);

  const leave = new AbortController();
  const aborted = linesOf(await transport.watch(watch, leave.signal)).next();
  leave.abort(new Error("enough"));
  await assert.rejects(aborted, /enough/);
  assert.equal((await peer.next(FRAME.rstStream)).streamId, 3);

  const old = linesOf(await transport.watch({ ...watch, lifetimeMs: 20 }, NEVER)).next();
  await assert.rejects(old, isOutside("deadline"));
  assert.equal((await peer.next(FRAME.rstStream)).streamId, 5);
});

test("a watch gives the window back as it is read", async () => {
  const port = await world.script((peer) => {
    void (async () => {
      await peer.next(FRAME.windowUpdate);
      const { streamId } = await peer.next(FRAME.headers);
      peer.send(headers(streamId));
      for (let frames = 0; frames < 50; frames += 1)
        peer.send(data(streamId, `${"x".repeat(16_000)}\n`));
      const update = await peer.next(FRAME.windowUpdate);
      peer.send(data(streamId, `stream ${update.streamId === streamId}`, true));
    })();
  });
  const lines = linesOf(await world.connect(port).watch(watch, NEVER));
  for (let read = 0; read < 50; read += 1)
    assert.equal(`${(await lines.next()).value}`.length, 16_000);
  assert.equal((await lines.next()).value, "stream true");
});

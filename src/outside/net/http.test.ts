import assert from "node:assert/strict";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createSecureServer as createH2, createServer as createH2c } from "node:http2";
import { createServer as createHttps } from "node:https";
import { createServer, type Server, type Socket } from "node:net";
import { after, afterEach, test } from "node:test";
import { TEST_CERTIFICATE } from "../../../test/probes/certificate.ts";
import { listen, timeWaitCount } from "../../../test/probes/sockets.ts";
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

const serveHttp = (listener: RequestListener) => listen(track(createHttp(listener)));
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

test("HttpClient sends path and query as they are, the host with its port, and asks to close", async () => {
  const port = await serveHttp((request, reply) =>
    reply.end(JSON.stringify([request.url, request.rawHeaders])),
  );
  const answer = await get(`http://127.0.0.1:${port}/a/../b%2Fc?x=1&y=%20#frag`, {
    headers: [
      { name: "user-agent", value: "kube-probe/1.36" },
      { name: "X-Twice", value: "1" },
      { name: "X-Twice", value: " 2 " },
      { name: "Content-Length", value: "7" },
    ],
    maxBodyBytes: 10_000,
  });
  assert.ok(answer.kind === "response");
  assert.deepEqual(JSON.parse(answer.body), [
    "/a/../b%2Fc?x=1&y=%20",
    [
      ...["Host", `127.0.0.1:${port}`, "User-Agent", "kube-probe/1.36"],
      ...["X-Twice", "1", "X-Twice", "2", "Connection", "close"],
    ],
  ]);
});

test("HttpClient lets a Host header set the request's host", async () => {
  const port = await serveHttp((request, reply) => reply.end(request.headers.host));
  const headers = [{ name: "host", value: "app.example" }];
  assert.deepEqual(
    await get(`http://127.0.0.1:${port}`, { headers }),
    response(200, "app.example"),
  );
  const empty = [{ name: "Host", value: "" }];
  assert.deepEqual(
    await get(`http://127.0.0.1:${port}`, { headers: empty }),
    response(200, `127.0.0.1:${port}`),
  );
});

test("HttpClient refuses headers that would break out of the request", async () => {
  const url = "http://127.0.0.1:1/";
  assert.deepEqual(await get(url, { headers: [{ name: "x-a", value: "b\r\nEvil: 1" }] }), {
    kind: "failure",
    message: `Get "${url}": net/http: invalid header field value for "X-A"`,
  });
  assert.deepEqual(await get(url, { headers: [{ name: "x a", value: "b" }] }), {
    kind: "failure",
    message: `Get "${url}": net/http: invalid header field name "x a"`,
  });
});

test("HttpClient speaks to IPv6 addresses", async () => {
  const server = track(createHttp((request, reply) => reply.end(request.headers.host)));
  const port = await listen(server, "::1");
  assert.deepEqual(await get(`http://[::1]:${port}/`), response(200, `[::1]:${port}`));
});

test("HttpClient answers any status, and empty, binary and cut bodies", async () => {
  const port = await serveHttp((request, reply) => {
    if (request.url === "/binary") reply.end(Buffer.from([0, 255, 104, 105]));
    else if (request.url === "/long") reply.end("x".repeat(1000));
    else reply.writeHead(Number(request.url?.slice(1))).end();
  });
  for (const status of [200, 204, 304, 399, 400, 404, 500, 503, 599])
    assert.deepEqual(await get(`http://127.0.0.1:${port}/${status}`), response(status, ""));
  assert.deepEqual(await get(`http://127.0.0.1:${port}/binary`), response(200, "\0\ufffdhi"));
  assert.deepEqual(await get(`http://127.0.0.1:${port}/long`), response(200, "x".repeat(100)));
});

test("HttpClient follows redirects on the same host, also to another port and scheme", async () => {
  const secure = await listen(
    track(
      createHttps(TEST_CERTIFICATE, (request, reply) =>
        reply.end(`tls ${request.url} ${request.headers.host}`),
      ),
    ),
  );
  const seen: unknown[][] = [];
  const port = await serveHttp((request, reply) => {
    seen.push([request.url, request.headers.host, request.headers.referer, request.headers["x-a"]]);
    const to: Record<string, [number, string]> = {
      "/1": [301, "2?q"],
      "/2?q": [307, `https://127.0.0.1:${secure}/end`],
    };
    const [status, location] = to[request.url ?? ""] ?? [500, ""];
    reply.writeHead(status, { location }).end("moved");
  });
  const headers = [
    { name: "X-A", value: "kept" },
    { name: "Host", value: "app" },
  ];
  const answer = await get(`http://127.0.0.1:${port}/1`, { headers });
  assert.deepEqual(answer, response(200, `tls /end 127.0.0.1:${secure}`));
  assert.deepEqual(seen, [
    ["/1", "app", undefined, "kept"],
    ["/2?q", "app", `http://127.0.0.1:${port}/1`, "kept"],
  ]);
});

test("HttpClient returns a redirect to another host name, one without location, and all when it is not to follow", async () => {
  const port = await serveHttp((request, reply) => {
    if (request.url === "/away") reply.setHeader("location", "http://other.invalid/");
    if (request.url === "/same") reply.setHeader("location", "/away");
    if (request.url === "/300") reply.setHeader("location", "/away");
    reply.writeHead(request.url === "/300" ? 300 : 302).end("body");
  });
  const at = (path: string, followSameHost = true) =>
    get(`http://127.0.0.1:${port}${path}`, { followSameHost });
  assert.deepEqual(await at("/away"), response(302, "body", true));
  assert.deepEqual(await at("/same"), response(302, "body", true));
  assert.deepEqual(await at("/nowhere"), response(302, "body"));
  assert.deepEqual(await at("/300"), response(300, "body"));
  assert.deepEqual(await at("/same", false), response(302, "body"));
});

test("HttpClient stops after ten requests of an endless redirect", async () => {
  let requests = 0;
  const port = await serveHttp((_, reply) => {
    requests += 1;
    reply.writeHead(302, { location: `/${requests}` }).end();
  });
  assert.deepEqual(await get(`http://127.0.0.1:${port}/`), {
    kind: "failure",
    message: 'Get "/10": stopped after 10 redirects',
  });
  assert.equal(requests, 10);
});

test("HttpClient fails on redirects that lead nowhere", async () => {
  const port = await serveHttp((request, reply) =>
    reply.writeHead(302, { location: decodeURIComponent(request.url?.slice(1) ?? "") }).end(),
  );
  const at = (location: string) => get(`http://127.0.0.1:${port}/${encodeURIComponent(location)}`);
  const bad = await at("http://[");
  assert.match(
    bad.kind === "failure" ? bad.message : "",
    /: failed to parse Location header "http:\/\/\["$/,
  );
  const ftp = await at("ftp://127.0.0.1/x");
  assert.deepEqual(ftp, {
    kind: "failure",
    message: 'Get "ftp://127.0.0.1/x": unsupported protocol scheme "ftp"',
  });
});

test("HttpClient speaks HTTP/2 without TLS where that is asked for, and nothing else then", async () => {
  const h2c = createH2c((request, reply) => {
    const { [":scheme"]: scheme, "x-own": own } = request.headers;
    if (request.url === "/moved") reply.writeHead(302, { location: "/end" }).end();
    else if (request.url === "/gone") reply.writeHead(503).end("no");
    else reply.end(`${scheme} ${own}`);
  });
  const only2 = await listen(track(h2c));
  const headers = [{ name: "X-Own", value: "a" }];
  const ask = (port: number, path: string, http2: boolean) =>
    get(`http://127.0.0.1:${port}${path}`, { headers, http2, timeoutMs: 2_000 });
  assert.deepEqual(await ask(only2, "/", true), response(200, "http a"));
  assert.deepEqual(await ask(only2, "/moved", true), response(200, "http a"));
  assert.deepEqual(await ask(only2, "/gone", true), response(503, "no"));
  assert.notEqual((await ask(only2, "/", false)).kind, "response", "HTTP/1.1 to HTTP/2");
  const only1 = await serveHttp((_, reply) => reply.end("one"));
  assert.notEqual((await ask(only1, "/", true)).kind, "response", "HTTP/2 to HTTP/1.1");
  assert.deepEqual(await ask(only1, "/", false), response(200, "one"));
});

test("HttpClient accepts self-signed certificates, old TLS, and speaks HTTP/2 where the server requires it", async () => {
  const plain = createHttps(TEST_CERTIFICATE, (_, reply) => reply.end("tls"));
  assert.deepEqual(
    await get(`https://127.0.0.1:${await listen(track(plain))}/`),
    response(200, "tls"),
  );
  for (const version of ["TLSv1", "TLSv1.1"] as const) {
    const old = createHttps(
      {
        ...TEST_CERTIFICATE,
        minVersion: version,
        maxVersion: version,
        ciphers: "DEFAULT:@SECLEVEL=0",
      },
      (_, reply) => reply.end(version),
    );
    const answer = await get(`https://localhost:${await listen(track(old), "localhost")}/`);
    assert.deepEqual(answer, response(200, version));
  }
  const h2 = createH2(TEST_CERTIFICATE, (request, reply) => {
    if (request.url === "/moved") reply.writeHead(302, { location: "/" }).end();
    else if (request.url === "/long") reply.end("x".repeat(100_000));
    else reply.end(`${request.httpVersion} ${request.authority} ${request.headers["x-a"]}`);
  });
  const port = await listen(track(h2));
  const headers = [
    { name: "X-A", value: "b" },
    { name: "Connection", value: "close" },
    { name: "Host", value: "app" },
  ];
  assert.deepEqual(
    await get(`https://127.0.0.1:${port}/moved`, { headers }),
    response(200, "2.0 app b"),
  );
  assert.deepEqual(await get(`https://127.0.0.1:${port}/long`), response(200, "x".repeat(100)));
});

test("HttpClient names what went wrong as Go does", async () => {
  const url = "http://127.0.0.1:1/x";
  assert.deepEqual(await get(url), {
    kind: "failure",
    message: `Get "${url}": dial tcp 127.0.0.1:1: connect: connection refused`,
  });
  assert.deepEqual(await get("http://no-such-name.invalid/"), {
    kind: "failure",
    message:
      'Get "http://no-such-name.invalid/": dial tcp: lookup no-such-name.invalid: no such host',
  });
  assert.deepEqual(await get("http://:80/"), {
    kind: "failure",
    message: 'Get "http://:80/": http: no Host in request URL',
  });
  const port = await serveHttp((_, reply) => reply.end());
  const answer = await get(`https://127.0.0.1:${port}/`);
  assert.deepEqual(answer, {
    kind: "failure",
    message: `Get "https://127.0.0.1:${port}/": http: server gave HTTP response to HTTPS client`,
  });
});

test("HttpClient has one deadline for all requests of an exchange", async () => {
  let requests = 0;
  const port = await serveHttp((_, reply) => {
    requests += 1;
    setTimeout(() => reply.writeHead(302, { location: `/${requests}` }).end(), 80);
  });
  const answer = await get(`http://127.0.0.1:${port}/`, { timeoutMs: 200 });
  assert.equal(answer.kind, "timeout");
  assert.ok(requests >= 1 && requests <= 3, `${requests} requests`);
});

test("HttpClient rejects with the signal's reason and cuts the connection", async () => {
  const stop = new AbortController();
  const port = await serveRaw(() => stop.abort(new Error("enough")));
  const exchange: HttpExchange = {
    url: `http://127.0.0.1:${port}/`,
    method: "GET",
    headers: [],
    timeoutMs: 10_000,
    maxBodyBytes: 100,
    followSameHost: true,
  };
  await assert.rejects(new HttpClient().get(exchange, stop.signal), /enough/);
  await assert.rejects(new HttpClient().get(exchange, stop.signal), /enough/);
});

test("HttpClient leaves nothing in TIME_WAIT, whoever closes first", async () => {
  const closes = await serveHttp((_, reply) => reply.end("hi"));
  const stays = await serveRaw((socket) =>
    socket.on("data", () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi`)),
  );
  const secure = await listen(track(createHttps(TEST_CERTIFICATE, (_, reply) => reply.end("hi"))));
  const h2 = await listen(track(createH2(TEST_CERTIFICATE, (_, reply) => reply.end("hi"))));
  for (const [scheme, port] of [
    ["http", closes],
    ["http", stays],
    ["https", secure],
    ["https", h2],
  ] as const) {
    for (let i = 0; i < 20; i += 1)
      assert.deepEqual(await get(`${scheme}://127.0.0.1:${port}/`), response(200, "hi"));
  }
  for (let i = 0; i < 500 && sockets.size > 0; i += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(sockets.size, 0);
  for (const port of [closes, stays, secure, h2]) assert.equal(timeWaitCount(port), 0);
});

// What peers may send and keep before and after they have authenticated, on real sockets with TLS.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, connect as connectH2 } from "node:http2";
import { before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type TLSSocket } from "node:tls";
import type { WallMs } from "../../src/kit/clock.ts";
import type { Exchange, ListenOptions } from "../../src/outside/net/serve/listen.ts";
import { generateKeyPair, signCertificate } from "../../src/outside/x509/x509.ts";
import { ask, LIMITS, type Started, start } from "./http.ts";

const SETTINGS = { minVersion: "", cipherSuites: [], curvePreferences: [] };
const TOKEN = "Bearer good";
const KIB = 1024;
const LAX = { rejectUnauthorized: false };

let pem: { readonly authority: string; readonly client: string; readonly key: string };
/** A certificate of the same client that is valid for so long from now. */
let certificateFor: (ms: number) => string;
before(async () => {
  const pair = await generateKeyPair();
  const template = {
    publicKey: pair.publicKey,
    notBefore: (Date.now() - 60_000) as WallMs,
    notAfter: (Date.now() + 600_000) as WallMs,
  };
  const named = (commonName: string) => ({ commonName, organizations: [] });
  const issuer = { privateKeyPem: pair.privateKeyPem };
  const authority = signCertificate(
    { ...template, subject: named("root"), use: "authority" },
    issuer,
  );
  certificateFor = (ms) =>
    signCertificate(
      {
        ...template,
        notAfter: (Date.now() + ms) as WallMs,
        subject: named("who"),
        use: ["clientAuth"],
      },
      { ...issuer, certificatePem: authority },
    );
  pem = { authority, client: certificateFor(600_000), key: pair.privateKeyPem };
});

/** Answers `/hold` only when the peer goes, and believes whoever has the token. */
async function answer(exchange: Exchange): Promise<void> {
  const isGood = exchange.client.kind === "verified" || exchange.headers["authorization"] === TOKEN;
  if (!isGood) return exchange.reply(401, {}, "who?");
  exchange.authenticated();
  if (exchange.target === "/hold") {
    const stream = exchange.replyStream(200, {});
    await stream.write("begun");
    await new Promise((resolve) => exchange.signal.addEventListener("abort", resolve));
    return;
  }
  await exchange.reply(200, {}, `${exchange.headers["x-long"]?.length ?? 0}`);
}

function serve(limits: Partial<ListenOptions["limits"]> = {}): Promise<Started> {
  const material = {
    certificatePem: pem.authority,
    privateKeyPem: pem.key,
    clientAuthoritiesPem: pem.authority,
  };
  return start(answer, {
    tls: { material, settings: SETTINGS },
    http2: true,
    limits: { ...LIMITS, headerBytes: 1024 * KIB, ...limits },
  });
}

const certificate = () => ({ cert: pem.client, key: pem.key });

async function session(port: number, more = {}): Promise<ClientHttp2Session> {
  const made = connectH2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, ...more });
  made.on("error", () => {});
  await once(made, "remoteSettings");
  return made;
}

/** The status of a request over HTTP/2; 0 when its stream was reset. */
function statusOf(of: ClientHttp2Session, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve) => {
    const stream = of.request({ ":path": "/", ...headers });
    let status = 0;
    stream.on("response", (head) => {
      status = Number(head[":status"]);
    });
    stream.on("error", () => {});
    stream.once("close", () => resolve(status));
    stream.resume();
    stream.end();
  });
}

describe("headers", () => {
  const long = "y".repeat(100 * KIB);

  test("over HTTP/1: 64 KiB from an unauthenticated peer, the listener's limit from an authenticated one", async () => {
    await using server = await serve();
    // Who is refused amid a long header may see the end of the connection before the words.
    const get = (headers: Record<string, string>, more = {}) =>
      ask({ port: server.port, headers, ...LAX, ...more }, undefined, true).then(
        ({ status, body }) => (status === 200 ? body : status),
        ({ code }: NodeJS.ErrnoException) => (/^(ECONNRESET|EPIPE)$/.test(`${code}`) ? 431 : code),
      );
    assert.equal(await get({ "x-long": long }), 431);
    assert.equal(await get({ "x-long": long, authorization: TOKEN }), 431);
    assert.equal(await get({ "x-long": "y".repeat(60 * KIB) }), 401);
    assert.equal(await get({ "x-long": long }, certificate()), `${long.length}`);
    // The limit is the connection's: nobody's certificate widens it for others.
    assert.equal(await get({ "x-long": long }), 431);
  });

  test("over HTTP/2: the same, and a token widens its own session", async () => {
    await using server = await serve();
    const unauthenticated = await session(server.port);
    assert.equal(unauthenticated.remoteSettings.maxHeaderListSize, 64 * KIB);
    assert.equal(unauthenticated.remoteSettings.maxConcurrentStreams, 16);
    assert.equal(await statusOf(unauthenticated, {}), 401);
    const widened = once(unauthenticated, "remoteSettings");
    assert.equal(await statusOf(unauthenticated, { authorization: TOKEN }), 200);
    await widened;
    assert.equal(unauthenticated.remoteSettings.maxHeaderListSize, 1024 * KIB);
    assert.equal(unauthenticated.remoteSettings.maxConcurrentStreams, 250);
    const known = await session(server.port, certificate());
    assert.equal(known.remoteSettings.maxConcurrentStreams, 250);
    unauthenticated.destroy();
    known.destroy();
  });
});

describe("idle sessions of HTTP/2", () => {
  test("are asked to end and closed; one in use is left alone", async () => {
    await using server = await serve({ idleMs: 200 });
    const held = await session(server.port, certificate());
    const stream = held.request({ ":path": "/hold" });
    await once(stream, "data");
    const idle = await Promise.all([session(server.port), session(server.port, certificate())]);
    await Promise.all(
      idle.map(async (each) => {
        const [code] = await once(each, "goaway");
        assert.equal(code, 0);
        if (!each.closed) await once(each, "close");
      }),
    );
    await sleep(400);
    assert.ok(!stream.closed && !held.closed);
    const goaway = once(held, "goaway");
    stream.close();
    await goaway;
  });
});

describe("crowds", () => {
  test("callers are answered however many unauthenticated peers there are, and their streams stay", async () => {
    await using server = await serve();
    const held = await session(server.port, certificate());
    const stream = held.request({ ":path": "/hold" });
    await once(stream, "data");
    const sockets = await Promise.all(
      Array.from({ length: 150 }, async () => {
        const socket = connect({
          port: server.port,
          host: "127.0.0.1",
          rejectUnauthorized: false,
          ALPNProtocols: ["http/1.1"],
        });
        socket.on("error", () => {});
        socket.once("secureConnect", () => socket.write("GET / HTTP/1.1\r\nHost: x\r\n"));
        await once(socket, "secureConnect").catch(() => {});
        return socket satisfies TLSSocket;
      }),
    );
    const caller = await session(server.port);
    assert.equal(await statusOf(caller, { authorization: TOKEN }), 200);
    const open = sockets.filter((socket) => !socket.destroyed).length;
    assert.ok(open <= 64, `${open} unauthenticated peers are connected`);
    assert.ok(!stream.closed && !held.closed && !caller.closed);
    for (const socket of sockets) socket.destroy();
    caller.destroy();
    held.destroy();
  });
});

test("a certificate that expires is not believed any more on connections that are open", async () => {
  await using server = await serve();
  // Certificates have whole seconds.
  const open = await session(server.port, { cert: certificateFor(5_000), key: pem.key });
  assert.equal(await statusOf(open, {}), 200);
  await sleep(5_000);
  assert.equal(await statusOf(open, {}), 401);
  open.destroy();
});

test("of more authenticated connections than there may be, the one that is idle for longest is closed", async () => {
  await using server = await serve({ connections: 3 });
  const held = await session(server.port, certificate());
  const stream = held.request({ ":path": "/hold" });
  await once(stream, "data");
  const idle: ClientHttp2Session[] = [];
  for (let i = 0; i < 4; i += 1) {
    const each = await session(server.port, certificate());
    assert.equal(await statusOf(each, {}), 200);
    idle.push(each);
  }
  await Promise.all(
    idle.slice(0, 2).map(async (each) => {
      if (!each.closed) await once(each, "close");
    }),
  );
  assert.deepEqual(
    [held, ...idle].map(({ closed, destroyed }) => closed || destroyed),
    [false, true, true, false, false],
  );
  for (const each of [held, ...idle]) each.destroy();
});

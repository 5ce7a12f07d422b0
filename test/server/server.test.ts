import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { after, before, describe, test } from "node:test";
import { connect as tlsConnect } from "node:tls";
import type { WallMs } from "../../src/kit/clock.ts";
import { generateKeyPair, parseCertificate, signCertificate } from "../../src/outside/x509/x509.ts";
import { answerOf, listenOn } from "./http.ts";
import { type ServedWorld, startWorld } from "./world.ts";

const CA_FILE = "/etc/kubernetes/pki/ca.crt";
const SLEEP = { kind: "sleep" } as const;

interface Clients {
  readonly ca: string;
  readonly otherCa: string;
  readonly options: (commonName: string, organizations?: readonly string[]) => object;
}

async function makeClients(): Promise<Clients> {
  const [caKey, otherKey, key] = [
    await generateKeyPair(),
    await generateKeyPair(),
    await generateKeyPair(),
  ];
  const validity = {
    notBefore: (Date.now() - 60_000) as WallMs,
    notAfter: (Date.now() + 600_000) as WallMs,
  };
  const authority = (own: typeof caKey, commonName: string) =>
    signCertificate(
      {
        ...validity,
        subject: { commonName, organizations: [] },
        publicKey: own.publicKey,
        use: "authority",
      },
      { privateKeyPem: own.privateKeyPem },
    );
  const ca = authority(caKey, "cluster");
  return {
    ca,
    otherCa: authority(otherKey, "other"),
    options: (commonName, organizations = []) => ({
      key: key.privateKeyPem,
      cert: signCertificate(
        {
          ...validity,
          subject: { commonName, organizations },
          publicKey: key.publicKey,
          use: ["clientAuth"],
        },
        { certificatePem: ca, privateKeyPem: caKey.privateKeyPem },
      ),
    }),
  };
}

const withCa = {
  authentication: {
    x509: { clientCAFile: CA_FILE },
    webhook: { enabled: false, cacheTTL: 0 },
    anonymous: { enabled: false },
  },
} as never;

let clients: Clients;
before(async () => {
  clients = await makeClients();
});

describe("the HTTPS port", () => {
  let world: ServedWorld;
  before(async () => {
    world = await startWorld({ config: withCa, files: { [CA_FILE]: clients.ca } });
    await world.run("web", SLEEP);
    await world.untilPhase("web", "Running");
  });
  after(() => world[Symbol.asyncDispose]());
  const master = () => clients.options("admin", ["system:masters"]);

  test("admits system:masters, and answers others with the permission that is missing", async () => {
    const table: readonly [string, string, object, number, string | RegExp][] = [
      ["GET", "/healthz", {}, 401, "Unauthorized"],
      ["GET", "/nowhere", {}, 401, "Unauthorized"],
      ["GET", "/healthz", clients.options("admin", ["system:masters"]), 200, "ok"],
      [
        "GET",
        "/healthz",
        clients.options("joe", ["dev"]),
        403,
        "Forbidden (user=joe, verb=get, resource=nodes, subresource(s)=[healthz proxy])\n",
      ],
      ["HEAD", "/healthz", clients.options("joe"), 403, ""],
      [
        "POST",
        "/run/a/b/c",
        clients.options("joe"),
        403,
        "Forbidden (user=joe, verb=create, resource=nodes, subresource(s)=[proxy])\n",
      ],
      ["GET", "/exec/a/b/c", clients.options("joe"), 403, /verb=create/],
      ["GET", "/pods", clients.options("joe"), 403, /\[pods proxy\]/],
      ["GET", "/runningpods/", clients.options("joe"), 403, /\[pods proxy\]/],
      ["GET", "/configz", clients.options("joe"), 403, /\[configz proxy\]/],
      ["GET", "/metrics/probes", clients.options("joe"), 403, /\[metrics\]/],
      ["GET", "/containerLogs/a/b/c", clients.options("joe"), 403, /verb=get.*\[proxy\]/],
      ["GET", "/nowhere", clients.options("joe"), 403, /\[proxy\]/],
      ["GET", "/nowhere", master(), 404, "404 page not found\n"],
      ["GET", "/nodelet/v1/overview", master(), 404, "404 page not found\n"],
      ["DELETE", "/pods", master(), 405, "405: Method Not Allowed\n"],
      ["GET", "/healthz", { ...clients.options("") }, 401, "Unauthorized"],
    ];
    for (const [method, path, options, status, text] of table) {
      const answer = await world.secure(path, { method, ...options });
      const what = `${method} ${path} ${answer.body}`;
      assert.equal(answer.status, status, what);
      if (typeof text === "string") assert.equal(answer.body, text, what);
      else assert.match(answer.body, text);
    }
  });

  test("serves a certificate of its own for the node, which it keeps", async () => {
    const { addresses } = world.agent.served ?? { addresses: {} };
    const at = addresses.secure;
    assert.ok(at?.kind === "tcp");
    const certificate = await world.host.files.readText("/var/lib/kubelet/pki/kubelet.crt", {
      maxBytes: 65_536,
    });
    const authority = certificate?.slice(certificate.indexOf("-----END") + 25) ?? "";
    await new Promise<void>((resolve, reject) => {
      const socket = tlsConnect(
        { host: at.host, port: at.port, ca: authority, servername: "node-1" },
        () => {
          socket.destroy();
          resolve();
        },
      );
      socket.on("error", reject);
    });
    const facts = parseCertificate(certificate ?? "");
    assert.deepEqual(facts.names.dnsNames, ["node-1", "localhost"]);
    const key = await world.host.files.facts("/var/lib/kubelet/pki/kubelet.key");
    assert.equal(key?.mode, 0o600);
    assert.equal((await world.host.files.facts("/var/lib/kubelet/pki/kubelet.crt"))?.mode, 0o600);
  });

  test("believes other authorities as soon as their file says so", async () => {
    const isLetIn = async () => (await world.secure("/healthz", master())).status === 200;
    assert.equal(await isLetIn(), true);
    await world.host.files.writeAtomic(CA_FILE, "garbage", 0o600);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(await isLetIn(), true, "a broken file changes nothing");
    await world.host.files.writeAtomic(CA_FILE, clients.otherCa, 0o600);
    await world.until(async () => !(await isLetIn()), "the old authority is forgotten");
    await world.host.files.writeAtomic(CA_FILE, clients.otherCa + clients.ca, 0o600);
    await world.until(isLetIn, "the authority is believed again");
  });

  test("holds 10,000 requests for as many paths in a bounded number of series", async () => {
    const options = clients.options("admin", ["system:masters"]);
    const size = async () => (await world.secure("/metrics", options)).body.split("\n").length;
    await world.secure("/x", options);
    const before = await size();
    const { addresses } = world.agent.served ?? { addresses: {} };
    const at = addresses.secure;
    assert.ok(at?.kind === "tcp");
    await hostileRequests({ host: at.host, port: at.port, ...options }, 10_000);
    const after = await size();
    assert.ok(after - before < 250, `${before} lines became ${after}`);
    const page = (await world.secure("/metrics", options)).body;
    assert.match(
      page,
      /kubelet_http_requests_total\{long_running="false",method="GET",path="other",server_type="readwrite"\} \d{3}/,
    );
    assert.match(
      page,
      /kubelet_http_requests_total\{long_running="false",method="other",path="other"/,
    );
  });
});

/** Sends requests with paths, parameters and methods that nobody asked before, many over one connection. */
async function hostileRequests(to: { host: string; port: number }, count: number): Promise<void> {
  const methods = ["GET", "PROPFIND", "POST", "OPTIONS"];
  const socket = tlsConnect({ ...to, rejectUnauthorized: false });
  socket.once("close", () => assert.equal(answers, count, "the server closed the connection"));
  let answers = 0;
  let tail = "";
  socket.on("data", (chunk: Buffer) => {
    const text = tail + chunk.toString("latin1");
    answers += text.split("HTTP/1.1 ").length - 1;
    tail = text.slice(-8).includes("HTTP/1.1 ") ? "" : text.slice(-8);
  });
  for (let i = 0; i < count; i += 1) {
    const path = [`/p${i}/x`, `/exec/ns${i}/p/c?command=${i}`, `/healthz/${i}`, `/pods?n=${i}`][
      i % 4
    ];
    const line = `${methods[Math.floor(i / 4) % 4]} ${path} HTTP/1.1\r\nHost: h${i}\r\nContent-Length: 0\r\n\r\n`;
    if (!socket.write(line)) await new Promise((resolve) => socket.once("drain", resolve));
    while (i - answers > 20) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  while (answers < count) await new Promise((resolve) => setTimeout(resolve, 5));
  socket.destroy();
}

describe("the HTTPS port without authorities", () => {
  test("is where the configuration says, and lets nobody in", async () => {
    await using world = await startWorld({ config: { address: "0.0.0.0" } });
    const at = world.agent.served?.addresses.secure;
    assert.equal(at?.kind === "tcp" && at.host, "0.0.0.0");
    assert.equal((await world.secure("/healthz")).status, 401);
    assert.equal(
      (await world.secure("/healthz", clients.options("a", ["system:masters"]))).status,
      401,
    );
  });

  test("lets everybody in where the configuration says so, on the address that it says", async () => {
    const authentication = {
      anonymous: { enabled: true },
      webhook: { enabled: false },
      x509: { clientCAFile: "" },
    };
    const authorization = { mode: "AlwaysAllow", webhook: {} };
    await using world = await startWorld({
      config: { address: "0.0.0.0", authentication, authorization } as never,
    });
    const at = world.agent.served?.addresses.secure;
    assert.equal(at?.kind === "tcp" && at.host, "0.0.0.0");
    assert.equal((await world.secure("/configz")).status, 200);
  });

  test("lets anonymous callers through where the configuration says so", async () => {
    const authentication = {
      ...(withCa as { authentication: object }).authentication,
      anonymous: { enabled: true },
    };
    await using world = await startWorld({
      config: { authentication, authorization: { mode: "AlwaysAllow", webhook: {} } } as never,
      files: { [CA_FILE]: clients.ca },
    });
    assert.equal((await world.secure("/pods")).status, 200);
    const untrusted = await makeClients();
    assert.equal(
      (await world.secure("/pods", untrusted.options("x", ["system:masters"]))).status,
      401,
    );
  });

  test("refuses to start with authorities that cannot be read", async () => {
    await assert.rejects(startWorld({ config: withCa }), /clientCAFile: there is no file/);
    await assert.rejects(
      startWorld({ config: withCa, files: { [CA_FILE]: "x" } }),
      /holds no certificate/,
    );
  });
});

describe("the other endpoints", () => {
  test("the health port serves health, and nothing else", async () => {
    const port = await freePort();
    await using world = await startWorld({ config: { healthzPort: port } });
    const get = (path: string, method = "GET") =>
      answerOf(request({ host: "127.0.0.1", port, path, method, agent: false }));
    await world.until(
      async () => (await get("/healthz").catch(() => undefined))?.status === 200,
      "the health port answers",
    );
    const measured = "[+]event-loop ok\n[+]thread-pool ok\n[+]runtime-listing ok\n";
    const table: readonly [string, string, number, string][] = [
      ["GET", "/healthz", 200, "ok"],
      ["GET", "/healthz/thread-pool", 200, "ok"],
      ["HEAD", "/healthz", 200, ""],
      ["GET", "/healthz/ping", 200, "ok"],
      ["GET", "/healthz/log", 200, "ok"],
      ["GET", "/healthz/syncloop", 200, "ok"],
      [
        "GET",
        "/healthz?verbose",
        200,
        `[+]ping ok\n[+]log ok\n[+]syncloop ok\n${measured}healthz check passed\n`,
      ],
      [
        "GET",
        "/healthz?verbose&exclude=log",
        200,
        `[+]ping ok\n[+]log excluded: ok\n[+]syncloop ok\n${measured}healthz check passed\n`,
      ],
      ["GET", "/healthz/nonsense", 404, "404 page not found\n"],
      ["POST", "/healthz", 405, "405: Method Not Allowed\n"],
      ...[
        "/",
        "/pods",
        "/metrics",
        "/configz",
        "/debug/pprof/",
        "/json/version",
        "/nodelet/v1/overview",
        "/exec/a/b/c",
      ].map((path): [string, string, number, string] => ["GET", path, 404, "404 page not found\n"]),
    ];
    for (const [method, path, status, body] of table) {
      const answer = await get(path, method);
      assert.deepEqual([answer.status, answer.body], [status, body], `${method} ${path}`);
    }
    world.runtime.options.faults = 1;
    await world.clockForward(200_000);
    const sick = await get("/healthz");
    assert.equal(sick.status, 500);
    assert.equal(
      sick.body,
      "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\n" +
        "[+]event-loop ok\n[+]thread-pool ok\n[-]runtime-listing failed: reason withheld\nhealthz check failed\n",
    );
    assert.match(
      (await get("/healthz/syncloop")).body,
      /^internal server error: pods were last listed 3m\d+s ago; threshold is 3m0s\n$/,
    );
    assert.equal((await get("/healthz/ping")).status, 200);
    assert.match(
      (await get("/healthz?verbose&exclude=syncloop")).body,
      /^\[\+\]syncloop excluded: ok\n(.*\n)*\[-\]runtime-listing failed: the runtime has not been listed for more than 90s\nhealthz check passed\n$/m,
    );
    assert.equal((await get("/healthz?exclude=syncloop")).status, 200, "warnings do not fail it");
    assert.equal((await get("/healthz/runtime-listing")).status, 500);
    const { body: metrics } = await world.local("/metrics");
    assert.match(metrics, /^nodelet_health_check_failing\{check="runtime-listing"\} 1$/m);
    assert.match(metrics, /^nodelet_health_lag_seconds\{check="runtime-listing"\} 2\d\d/m);
    assert.match(metrics, /^nodelet_health_lag_seconds\{check="thread-pool"\} /m);
  });

  test("the read-only port is served without the secure one, as by the Go kubelet", async () => {
    const port = await freePort();
    const config = { readOnlyPort: port, enableServer: false };
    await using _world = await startWorld({ config });
    const at = { host: "127.0.0.1", port, path: "/healthz", agent: false };
    assert.equal((await answerOf(request(at))).status, 200);
  });

  test("the read-only port shows pods and metrics, and reaches into nothing", async () => {
    const port = await freePort();
    await using world = await startWorld({ config: { readOnlyPort: port } });
    await world.run("web", SLEEP);
    await world.untilPhase("web", "Running");
    const get = (path: string, method = "GET") =>
      answerOf(request({ host: "127.0.0.1", port, path, method, agent: false }));
    for (const path of ["/healthz", "/pods", "/metrics", "/metrics/probes"])
      assert.equal((await get(path)).status, 200, path);
    for (const path of [
      "/configz",
      "/runningpods/",
      "/containerLogs/default/web/c",
      "/nodelet/v1/pods",
    ])
      assert.equal((await get(path)).status, 404, path);
    for (const path of ["/exec/default/web/c?command=sh&output=1", "/run/default/web/c?cmd=id"])
      assert.equal((await get(path, "POST")).status, 404, path);
    assert.match(
      (await get("/metrics")).body,
      /kubelet_http_requests_total\{long_running="false",method="GET",path="pods",server_type="readonly"/,
    );
  });

  test("nothing reaches into containers without debugging handlers", async () => {
    await using world = await startWorld({ config: { enableDebuggingHandlers: false } });
    for (const path of [
      "/exec/default/web/c",
      "/containerLogs/default/web/c",
      "/runningpods/",
      "/run/a/b/c",
      "/portForward/a/b",
    ]) {
      const answer = await world.local(path);
      assert.deepEqual(
        [answer.status, answer.body],
        [405, "Debug endpoints are disabled.\n"],
        path,
      );
    }
    assert.equal((await world.local("/configz")).status, 404);
    assert.equal((await world.local("/pods")).status, 200);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listenOn(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

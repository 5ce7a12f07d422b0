// Every route of the HTTPS port to callers without rights, with few, and with all; and to callers who mean harm.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect } from "node:tls";
import { DEFAULT_CONFIG } from "../../src/config/fields/defaults.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import type { Serving } from "../../src/outside/serving.ts";
import type { ServedRoute } from "../../src/server/call.ts";
import { kubeletRoutes } from "../../src/server/routes/kubelet-routes.ts";
import type { ServedNode } from "../../src/server/served-node.ts";
import { type ServedWorld, startWorld } from "./world.ts";

const TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/** The routes of the port; none of their handlers is called through this. */
function routesOf(node: ServedWorld): readonly ServedRoute[] {
  const served = { ...node.agent, config: DEFAULT_CONFIG } as unknown as ServedNode;
  const deps = {
    clock: createSystemClock(),
    log: silentLog,
    checks: () => [],
    sliMetrics: new MetricsRegistry(),
    countTranslated: () => {},
    serving: { process: {} } as unknown as Serving,
    flags: {},
    nodeLogFolder: "/var/log",
  };
  return kubeletRoutes(served, deps).filter(({ endpoints }) => endpoints.includes("secure"));
}

const pathOf = (pattern: string) => pattern.replaceAll(/\{[^}]+\}/g, "x");
const bearer = (token: string, method = "GET") => ({
  method,
  headers: { authorization: `Bearer ${token}` },
});

let world: ServedWorld;
const asked: { user: string; verb: string; subresource: string }[] = [];
before(async () => {
  world = await startWorld({ cluster: true });
  world.api.special.set(TOKENS, (body) => {
    const { token } = (body as { spec: { token: string } }).spec;
    return token.startsWith("user-")
      ? { status: { authenticated: true, user: { username: token } } }
      : { status: { authenticated: false } };
  });
  world.api.special.set(ACCESS, (body) => {
    const { spec } = body as {
      spec: { user: string; resourceAttributes: { verb: string; subresource: string } };
    };
    const { verb, subresource } = spec.resourceAttributes;
    asked.push({ user: spec.user, verb, subresource });
    const may: Record<string, readonly string[]> = {
      "user-all": ["proxy", "metrics", "pods", "healthz", "configz", "stats", "log", "statusz"],
      "user-metrics": ["metrics"],
      "user-pods": ["pods"],
    };
    return { status: { allowed: may[spec.user]?.includes(subresource) ?? false } };
  });
});
after(() => world[Symbol.asyncDispose]());

describe("rights", () => {
  test("nobody is let in without a name, with a wrong one, or while it cannot be found out", async () => {
    for (const { pattern, methods } of routesOf(world))
      for (const method of methods) {
        const path = pathOf(pattern);
        assert.equal((await world.secure(path, { method })).status, 401, `${method} ${path}`);
        assert.equal((await world.secure(path, bearer("unknown", method))).status, 401, path);
      }
    assert.equal((await world.secure("/nowhere")).status, 401);
  });

  test("every route is closed to those who may do nothing", async () => {
    for (const { pattern, methods } of routesOf(world))
      for (const method of methods) {
        const { status, body } = await world.secure(pathOf(pattern), bearer("user-nobody", method));
        assert.equal(status, 403, `${method} ${pattern}`);
        assert.match(body, /^Forbidden \(user=user-nobody, verb=\w+, resource=nodes, /);
      }
    assert.equal((await world.secure("/nowhere", bearer("user-nobody"))).status, 403);
  });

  test("a right to one thing opens that and no more", async () => {
    const statuses = async (token: string) => [
      (await world.secure("/metrics", bearer(token))).status,
      (await world.secure("/pods", bearer(token))).status,
      (await world.secure("/healthz", bearer(token))).status,
      (await world.secure("/configz", bearer(token))).status,
      (await world.secure("/exec/a/b/c", bearer(token, "POST"))).status,
    ];
    assert.deepEqual(await statuses("user-metrics"), [200, 403, 403, 403, 403]);
    assert.deepEqual(await statuses("user-pods"), [403, 200, 403, 403, 403]);
    const all = await statuses("user-all");
    assert.deepEqual(all.slice(0, 4), [200, 200, 200, 200]);
    assert.ok(all[4] !== 401 && all[4] !== 403, `${all[4]}`);
  });

  test("the fine-grained subresource is asked for first, then proxy", async () => {
    asked.length = 0;
    await world.secure("/pods", bearer("user-fine"));
    await world.secure("/configz", bearer("user-fine"));
    await world.secure("/healthz", bearer("user-fine"));
    assert.deepEqual(
      asked.map(({ verb, subresource }) => `${verb} ${subresource}`),
      ["get pods", "get proxy", "get configz", "get healthz"],
    );
    asked.length = 0;
    for (const path of ["/logs/", "/statusz", "/flagz", "/debug/pprof/"])
      await world.secure(path, bearer("user-other"));
    await world.secure("/debug/flags/v", bearer("user-other", "PUT"));
    assert.deepEqual(
      asked.map(({ verb, subresource }) => `${verb} ${subresource}`),
      ["get log", "get statusz", "get configz", "get proxy", "update proxy"],
    );
  });
});

/** Sends bytes over TLS and gives what comes back until it is quiet, closed, or some time is over. */
function send(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
    let answer = "";
    const done = () => {
      clearTimeout(limit);
      socket.destroy();
      resolve(answer);
    };
    const limit = setTimeout(done, 300);
    socket.once("secureConnect", () => socket.write(bytes));
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (answer.length > 100_000) done();
    });
    socket.on("error", done);
    socket.on("close", done);
  });
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "X\u0000"];
const PATHS = [
  "/../../etc/passwd",
  "/%2e%2e/%2e%2e/etc/shadow",
  "//",
  "/%",
  "/%00",
  "/exec/%2e%2e/%2e%2e/x",
  `/${"a".repeat(70_000)}`,
  "/containerLogs/a/b/c?tailLines=-1&limitBytes=1e999&sinceTime=%ff",
  "/pods?__proto__=1&constructor=2",
  "*",
  "http://elsewhere/pods",
  "/run/a/b/c?cmd=%00",
];
const TRACE = /\bat \S+ \(|node:internal|\/src\/|\.ts:\d+/;

describe("harm", () => {
  test("wild requests get an answer of HTTP or none, never a trace of our insides", async () => {
    const { secure } = world.agent.served?.addresses ?? {};
    const port = secure?.kind === "tcp" ? secure.port : 0;
    const random = createSeededRandom(11);
    const pick = <T>(items: readonly T[]): T =>
      items[Math.floor(random.next() * items.length)] as T;
    const junk = (length: number) =>
      Buffer.from(Array.from({ length }, () => Math.floor(random.next() * 256)));
    const wild = () => {
      const head = `${pick(METHODS)} ${pick(PATHS)} HTTP/1.1\r\nHost: x\r\n`;
      const auth = `Authorization: Bearer ${pick(["user-all", "user-nobody", "x".repeat(9_000)])}\r\n`;
      switch (Math.floor(random.next() * 6)) {
        case 0:
          return junk(1 + Math.floor(random.next() * 2_000));
        case 1:
          return `${head}${auth}Content-Length: 99999999999\r\n\r\n{"a":`;
        case 2:
          return `${head}${auth}Transfer-Encoding: chunked\r\n\r\nZZ\r\nnot a chunk\r\n`;
        case 3:
          return `${head}${auth}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{"a":`;
        case 4:
          return `${head}${auth}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n`;
        default:
          return `${head}${auth}${"X-Long: y\r\n".repeat(Math.floor(random.next() * 3_000))}\r\n`;
      }
    };
    for (let round = 0; round < 15; round += 1) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => send(port, wild())));
      for (const answer of answers) {
        assert.ok(answer === "" || answer.startsWith("HTTP/1.1 "), answer.slice(0, 200));
        assert.doesNotMatch(answer, TRACE);
      }
    }
    assert.equal((await world.secure("/healthz", bearer("user-all"))).status, 200);
  });

  test("callers who are slow to send their request delay nobody", async () => {
    const { secure } = world.agent.served?.addresses ?? {};
    const port = secure?.kind === "tcp" ? secure.port : 0;
    const slow = Array.from({ length: 50 }, () => {
      const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
      socket.on("error", () => {});
      socket.once("secureConnect", () => socket.write("POST /exec/a/b/c HTTP/1.1\r\nHost:"));
      return socket;
    });
    try {
      assert.equal((await world.secure("/pods", bearer("user-pods"))).status, 200);
    } finally {
      for (const socket of slow) socket.destroy();
    }
  });
});

// Malformed, oversized and unauthenticated requests to the local API.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { type Log, silentLog } from "../../src/kit/log.ts";
import { createSeededRandom } from "../../src/kit/random.ts";
import { KINDS } from "../../src/localapi/kinds/catalog.ts";
import { REVIEWS, subresourcesOf } from "../../src/localapi/kinds/offers.ts";
import { Authority } from "../kube/pki.ts";
import { accessIn, LocalApiUnderTest } from "./local-api.ts";

const MAPS = "/api/v1/namespaces/default/configmaps";
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/** Every route there is, with names filled in. */
function routes(): readonly string[] {
  const rootOf = (group: string, version: string) =>
    group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const ofKinds = KINDS.flatMap((kind) => {
    const root = rootOf(kind.group, kind.version);
    const collection = `${root}${kind.namespaced ? "/namespaces/default" : ""}/${kind.plural}`;
    const parts = subresourcesOf(kind).map(({ name }) => `${collection}/x/${name}`);
    return [`${root}/${kind.plural}`, collection, `${collection}/x`, ...parts];
  });
  const ofReviews = REVIEWS.map(({ group, version, plural, namespaced }) =>
    [rootOf(group, version), ...(namespaced ? ["namespaces/default"] : []), plural].join("/"),
  );
  const others = [
    "/",
    "/version",
    "/healthz",
    "/api",
    "/apis",
    "/openapi/v2",
    "/openapi/v3/api/v1",
  ];
  return [...new Set([...ofKinds, ...ofReviews, ...others, "/nothing/here"])];
}

describe("the local API and unauthenticated clients", () => {
  const problems: unknown[] = [];
  const log: Log = {
    ...silentLog,
    error: (message, fields) => problems.push([message, fields]),
    child: () => log,
  };
  const server = new LocalApiUnderTest({ log, bodyWithinMs: 300 });
  before(() => server.start());
  after(() => server[Symbol.asyncDispose]());

  const stillServes = async () => {
    await server.must("GET", "/api/v1/namespaces/default");
    assert.deepEqual(problems, []);
  };

  test("nobody is answered on any route who does not say who they are", async () => {
    using session = server.session(null);
    for (const path of routes())
      for (const method of METHODS) {
        const { status } = await session.ask({ method, path });
        assert.equal(status, 401, `${method} ${path}`);
      }
    const reply = await server.anonymous({ method: "GET", path: "/api/v1/pods", token: "a.b.c" });
    assert.equal(reply.status, 401);
    await stillServes();
  });

  test("a certificate of another authority says nothing", async () => {
    const otherAuthority = await (await Authority.create()).client({
      name: "admin",
      groups: ["system:masters"],
    });
    const reply = await server.request({ method: "GET", path: "/api/v1/pods" }, otherAuthority);
    assert.equal(reply.status, 401);
  });

  test("the node may do what nodes do and nothing else", async () => {
    const { identity } = accessIn(server.nodeKubeconfig);
    const asNode = async (method: string, path: string, body?: unknown) =>
      (await server.request({ method, path, ...(body ? { body } : {}) }, identity)).status;
    const node = (name: string) => ({ metadata: { name } });
    const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "a", image: "b" }] } };
    const pods = "/api/v1/namespaces/default/pods";
    assert.equal(await asNode("GET", "/api/v1/pods"), 200);
    assert.equal(await asNode("POST", "/api/v1/nodes", node("n1")), 201);
    assert.equal(await asNode("POST", "/api/v1/nodes", node("n2")), 403);
    assert.equal(await asNode("POST", pods, pod), 403);
    assert.equal(await asNode("DELETE", "/api/v1/namespaces/default/secrets/x"), 403);
    assert.equal(await asNode("POST", "/api/v1/namespaces", node("x")), 403);
    assert.equal(await asNode("POST", `${pods}/p/exec`), 403);
    await server.must("POST", pods, { ...pod, spec: { ...pod.spec, nodeName: "elsewhere" } });
    assert.equal(await asNode("DELETE", `${pods}/p`), 403);
    await server.must("DELETE", `${pods}/p?gracePeriodSeconds=0`);
  });

  test("an account's token says who it is, and lets it read itself only", async () => {
    const made = await server.must<{ status: { token: string } }>(
      "POST",
      "/api/v1/namespaces/default/serviceaccounts/default/token",
      { spec: { expirationSeconds: 600 } },
    );
    const { token } = made.status;
    using session = server.session(null);
    const ask = (method: string, path: string, body?: unknown, shown = token) =>
      session.ask({ method, path, token: shown, ...(body ? { body } : {}) });
    const self = await ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {});
    const { status } = JSON.parse(self.text) as { status: { userInfo: { username: string } } };
    assert.equal(status.userInfo.username, "system:serviceaccount:default:default");
    for (const path of routes()) {
      if (/^\/(version|healthz|api|apis|openapi\/\w.*)$|selfsubject/.test(path)) continue;
      const reply = await ask("GET", path);
      assert.equal(reply.status, 403, path);
    }
    const [head, payload = "", signature = ""] = token.split(".");
    const another = `${signature[0] === "A" ? "B" : "A"}${signature.slice(1)}`;
    const changed = payload.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    for (const unsigned of [`${head}.${payload}.${another}`, `${head}.${changed}.${signature}`])
      assert.equal((await ask("GET", "/version", undefined, unsigned)).status, 401);
    const claims = Buffer.from(JSON.stringify({ iss: "x" })).toString("base64url");
    const forged = `${head}.${claims}.${signature}`;
    assert.equal(
      (await server.anonymous({ method: "GET", path: "/version", token: forged })).status,
      401,
    );
  });

  test("who acts for another has that one's rights, and only administrators may", async () => {
    using admin = server.session();
    const whoIs = async (headers: Readonly<Record<string, string | string[]>>) => {
      const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
      const reply = await admin.ask({ method: "POST", path, body: {} }, undefined, headers);
      return (
        JSON.parse(reply.text).status?.userInfo ?? [reply.status, JSON.parse(reply.text).message]
      );
    };
    const as = { "impersonate-user": "system:serviceaccount:default:default" };
    const secrets = { method: "GET", path: "/api/v1/secrets" };
    assert.equal((await admin.ask(secrets)).status, 200);
    assert.equal((await admin.ask(secrets, undefined, as)).status, 403);
    assert.deepEqual(await whoIs(as), {
      username: "system:serviceaccount:default:default",
      groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    });
    const jane = { "impersonate-user": "jane", "impersonate-group": ["a", "b"] };
    assert.deepEqual(await whoIs({ ...jane, "impersonate-extra-scopes": "view" }), {
      username: "jane",
      groups: ["a", "b", "system:authenticated"],
      extra: { scopes: ["view"] },
    });
    assert.equal((await whoIs({ "impersonate-group": "a" }))[0], 400);
    using node = server.session(accessIn(server.nodeKubeconfig).identity);
    const pods = { method: "GET", path: "/api/v1/pods" };
    assert.equal((await node.ask(pods)).status, 200);
    const refused = await node.ask(pods, undefined, { "impersonate-user": "jane" });
    assert.equal(refused.status, 403);
    assert.match(refused.text, /cannot impersonate resource \\"users\\" in API group/);
  });

  test("wild paths and bodies are answered with a status and no word about our code", async () => {
    const random = createSeededRandom(7);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
    const paths = routes();
    const tails = [
      "",
      "/",
      "//",
      "/%2e%2e/%2e%2e/etc",
      "/%00",
      "/..;/x",
      "/%ff",
      "?watch=1&timeoutSeconds=0.05",
      "?limit=-1",
      "?continue=%F0%9F",
      "?labelSelector=((",
      "?fieldSelector=%3D%3D",
      "?resourceVersion=abc",
      "?dryRun=Some",
      "/a/b/c/d/e/f",
      "?fieldManager=x&force=yes",
      "?gracePeriodSeconds=x",
    ];
    const bodies: readonly unknown[] = [
      undefined,
      null,
      [],
      1,
      "x",
      {},
      { metadata: 1 },
      { metadata: { name: {} } },
      { metadata: { name: "../x" } },
      { kind: "Nope" },
      { apiVersion: {}, kind: [] },
      { spec: null },
      { spec: { containers: {} } },
      [{ op: "add" }],
      [{ op: "remove", path: "/" }],
      [{ op: "move", from: "/a/b", path: "/metadata" }],
      { $patch: "delete" },
      { spec: { $setElementOrder: 1 } },
      { metadata: { $retainKeys: "x" } },
      JSON.parse('{"__proto__":{"a":1},"constructor":{"prototype":1}}'),
      { metadata: { labels: { "a b": "c" }, finalizers: ["x"] } },
    ];
    const types = [
      "application/json",
      "application/json-patch+json",
      "application/merge-patch+json",
      "application/strategic-merge-patch+json",
      "application/apply-patch+yaml",
      "application/yaml",
      "application/vnd.kubernetes.protobuf",
      "text/html",
    ];
    using session = server.session();
    for (let i = 0; i < 600; i += 1) {
      const request = {
        method: pick(METHODS),
        path: `${pick(paths)}${pick(tails)}`,
        contentType: pick(types),
      };
      const body = pick(bodies);
      const reply = await session.ask({ ...request, ...(body === undefined ? {} : { body }) });
      const { text } = reply;
      assert.doesNotMatch(text, /\.ts\b|node:internal|\bat \w+ \(|TypeError|undefined is not/);
      assert.notEqual(
        reply.status,
        500,
        `${JSON.stringify(request)} ${JSON.stringify(body)}: ${text}`,
      );
    }
    await stillServes();
  });

  test("bytes that are no JSON, no YAML and no object are refused", async () => {
    const random = createSeededRandom(11);
    using session = server.session();
    const post = async (bytes: string | Uint8Array, contentType: string) =>
      (await session.ask({ method: "POST", path: MAPS, contentType }, bytes)).status;
    for (const type of ["application/json", "application/yaml"])
      for (const text of [
        "{",
        "[".repeat(50_000),
        '{"a":',
        "\u0000",
        "{}}",
        `{"a":${"[".repeat(300)}${"]".repeat(300)}}`,
        "&a [*a]",
        "x: !!js/function y",
      ])
        assert.equal(await post(text, type), 400, text.slice(0, 20));
    assert.equal(await post(Uint8Array.of(0xff, 0xfe, 0x7b), "application/json"), 400);
    for (let i = 0; i < 200; i += 1) {
      const length = Math.floor(random.next() * 64);
      const noise = Uint8Array.from({ length }, () => Math.floor(random.next() * 256));
      const bytes = Buffer.concat([
        Buffer.from("k8s\0\n\u000e\n\u0002v1\u0012\bConfigMap", "latin1"),
        noise,
      ]);
      const status = await post(i % 2 === 0 ? bytes : noise, "application/vnd.kubernetes.protobuf");
      assert.ok([201, 400, 409, 422].includes(status), String(status));
    }
    await stillServes();
  });

  test("a body without end is cut off at its limit, one that does not come after its time", async () => {
    using session = server.session();
    const long = `{"data":{"a":"${"x".repeat(4_000_000)}"}}`;
    const request = { method: "POST", path: MAPS, contentType: "application/json" };
    assert.equal((await session.ask(request, long)).status, 413);
    const slow = session.open(request);
    slow.write("{");
    const status = await new Promise((resolve) =>
      slow.once("response", (head) => resolve(head[":status"])),
    );
    assert.equal(status, 408);
    await stillServes();
  });

  test("what is no HTTP is turned away", async () => {
    const { caPem, identity } = accessIn(server.kubeconfig);
    for (const bytes of [
      "\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "\u0000".repeat(1000),
    ]) {
      const socket = connectTls({
        port: server.port,
        host: "127.0.0.1",
        ca: caPem,
        cert: identity.certificatePem,
        key: identity.privateKeyPem,
        checkServerIdentity: () => undefined,
        ...(bytes.startsWith("\u0000") ? { ALPNProtocols: ["h2"] } : {}),
      });
      socket.on("error", () => {});
      socket.write(bytes, "latin1");
      socket.setTimeout(500, () => socket.destroy());
      await new Promise((resolve) => socket.once("close", resolve));
    }
    await stillServes();
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeApiServer } from "../../../test/sim/fake-apiserver.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { silentLog } from "../../kit/log.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { KubeClient } from "../../outside/kube/kube.ts";
import type { PresentedCredentials } from "./authenticate.ts";
import { decideAccess } from "./authorize.ts";
import { reviewAuthorizer, tokenAuthenticator } from "./delegated.ts";

const TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const signal = new AbortController().signal;

function world() {
  const clock = new SimClock();
  const server = new FakeApiServer(clock, createSeededRandom(1));
  const client = new KubeClient(
    { timeoutMs: 10_000 },
    { transport: server, clock, log: silentLog },
  );
  const asked: unknown[] = [];
  server.special.set(TOKENS, (body) => {
    const { token } = (body as { spec: { token: string } }).spec;
    asked.push(token);
    return token === "good"
      ? { status: { authenticated: true, user: { username: "ann", uid: "7", groups: ["devs"] } } }
      : { status: { authenticated: false, error: "unknown" } };
  });
  server.special.set(ACCESS, (body) => {
    const { spec } = body as {
      spec: { user: string; resourceAttributes: { subresource: string } };
    };
    asked.push(spec.resourceAttributes.subresource);
    return { status: { allowed: spec.resourceAttributes.subresource === "metrics" } };
  });
  const settled = async <T>(promise: Promise<T>): Promise<T> => {
    await Promise.allSettled([promise, clock.advance(1_000)]);
    return await promise;
  };
  return { clock, server, client, asked, settled };
}

const bearer = (bearerToken: string | undefined): PresentedCredentials => ({
  client: { kind: "none" },
  bearerToken,
});

test("tokenAuthenticator asks whose token it is, and remembers both answers for a while", async () => {
  const { clock, client, asked, settled } = world();
  const { authenticate } = tokenAuthenticator(120_000, { client, clock });
  const identity = { name: "ann", groups: ["devs"], uid: "7" };
  const ask = (token: string | undefined) => settled(authenticate(bearer(token), signal));
  assert.deepEqual(await ask("good"), { kind: "identity", identity });
  assert.deepEqual(await ask("good"), { kind: "identity", identity });
  assert.equal((await ask("bad")).kind, "refused");
  assert.equal((await ask("bad")).kind, "refused");
  assert.deepEqual(asked, ["good", "bad"]);
  await clock.advance(121_000);
  await ask("good");
  assert.deepEqual(asked, ["good", "bad", "good"]);
  assert.equal((await ask(undefined)).kind, "nothing");
});

test("tokenAuthenticator lets nobody in while the API server cannot be asked, and keeps no such answer", async () => {
  const { clock, server, client, settled } = world();
  const { authenticate } = tokenAuthenticator(120_000, { client, clock });
  server.goDown();
  assert.equal((await settled(authenticate(bearer("good"), signal))).kind, "refused");
  server.comeBack();
  assert.equal((await settled(authenticate(bearer("good"), signal))).kind, "identity");
});

test("many that bring the same token at once are one question", async () => {
  const { clock, client, asked, settled } = world();
  const { authenticate } = tokenAuthenticator(120_000, { client, clock });
  await settled(
    Promise.all(Array.from({ length: 50 }, () => authenticate(bearer("good"), signal))),
  );
  assert.deepEqual(asked, ["good"]);
});

test("reviewAuthorizer asks for each subresource in turn; a yes is kept longer than a no", async () => {
  const { clock, client, asked, settled } = world();
  const authorizer = reviewAuthorizer({ allowedMs: 300_000, deniedMs: 30_000 }, { client, clock });
  const question = (subresources: readonly string[]) => ({
    identity: { name: "ann", groups: [] },
    access: { subresources },
    method: "GET",
    path: "/metrics",
    nodeName: "node-1",
  });
  const decide = (...subresources: readonly string[]) =>
    settled(decideAccess(question(subresources), authorizer, signal));
  assert.equal((await decide("pods", "metrics")).kind, "allowed");
  assert.deepEqual(await decide("pods", "proxy"), {
    kind: "refused",
    status: 403,
    text: "Forbidden (user=ann, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
  });
  assert.deepEqual(asked, ["pods", "metrics", "proxy"]);
  await clock.advance(60_000);
  await decide("metrics");
  await decide("pods");
  assert.deepEqual(asked, ["pods", "metrics", "proxy", "pods"]);
});

test("reviewAuthorizer that cannot ask is an error of the server, not a no", async () => {
  const { clock, server, client, settled } = world();
  const authorizer = reviewAuthorizer({ allowedMs: 300_000, deniedMs: 30_000 }, { client, clock });
  server.goDown();
  const answer = await settled(
    decideAccess(
      {
        identity: { name: "ann", groups: [] },
        access: { subresources: ["metrics"] },
        method: "GET",
        path: "/metrics",
        nodeName: "node-1",
      },
      authorizer,
      signal,
    ),
  );
  assert.equal(answer.kind === "refused" && answer.status, 500);
});

/** A client of which the API server answers every question in the same way, and what was asked. */
function answering(status: object | undefined) {
  const asked: unknown[] = [];
  const client = {
    create: async (_: unknown, __: unknown, object: unknown) => {
      asked.push(object);
      return { status };
    },
  } as unknown as Parameters<typeof tokenAuthenticator>[1]["client"];
  return { clock: new SimClock(), client, asked };
}

const USER = { username: "ann" };
const REVIEWS: readonly (readonly [string, object | undefined, object])[] = [
  [
    "a user",
    { authenticated: true, user: USER },
    { kind: "identity", identity: { name: "ann", groups: [] } },
  ],
  [
    "a user with all there is",
    { authenticated: true, user: { ...USER, groups: ["a"], uid: "7", extra: { scopes: ["x"] } } },
    {
      kind: "identity",
      identity: { name: "ann", groups: ["a"], uid: "7", extra: { scopes: ["x"] } },
    },
  ],
  [
    "a user whose token is not authenticated",
    { authenticated: false, user: USER, error: "expired" },
    { kind: "refused", why: "expired" },
  ],
  [
    "a user, and no word on the token",
    { user: USER },
    { kind: "refused", why: "the API server rejected the token" },
  ],
  [
    "no user",
    { authenticated: true },
    { kind: "refused", why: "the API server rejected the token" },
  ],
  ["nothing", undefined, { kind: "refused", why: "the API server rejected the token" }],
];

for (const [what, status, expected] of REVIEWS)
  test(`tokenAuthenticator: the API server answers with ${what}`, async () => {
    const { authenticate } = tokenAuthenticator(1_000, answering(status));
    assert.deepEqual(await authenticate(bearer("t"), signal), expected);
  });

test("tokenAuthenticator: an answer is good until its time, and longer tokens are asked for each time", async () => {
  const { clock, client, asked } = answering({ authenticated: true, user: USER });
  const { authenticate } = tokenAuthenticator(1_000, { clock, client });
  const ask = async (token: string) => {
    const before = asked.length;
    const { kind } = await authenticate(bearer(token), signal);
    return [kind, asked.length - before];
  };
  assert.deepEqual(await ask("t"), ["identity", 1]);
  await clock.advance(999);
  assert.deepEqual(await ask("t"), ["identity", 0]);
  await clock.advance(1);
  assert.deepEqual(await ask("t"), ["identity", 1]);
  for (const [length, again] of [
    [10_000, 0],
    [10_001, 1],
    [64 * 1024, 1],
  ] as const) {
    assert.deepEqual(await ask("x".repeat(length)), ["identity", 1]);
    assert.deepEqual(await ask("x".repeat(length)), ["identity", again], `${length}`);
  }
  assert.deepEqual(await ask("x".repeat(64 * 1024 + 1)), ["refused", 0]);
});

test("an error that is no refusal of the API server is not taken for one", async () => {
  const { clock } = answering(undefined);
  const client = {
    create: async () => {
      throw new TypeError("a mistake of ours");
    },
  } as unknown as Parameters<typeof tokenAuthenticator>[1]["client"];
  const { authenticate } = tokenAuthenticator(1_000, { clock, client });
  await assert.rejects(authenticate(bearer("t"), signal), /a mistake of ours/);
});

test("reviewAuthorizer sends the API server all attributes of the request, and allows only what it allows", async () => {
  const question = {
    verb: "get",
    resource: "nodes",
    name: "n1",
    subresource: "pods",
    path: "/pods",
  } as const;
  const resourceAttributes = {
    verb: "get",
    version: "v1",
    resource: "nodes",
    name: "n1",
    subresource: "pods",
  };
  const ttl = { allowedMs: 1_000, deniedMs: 1_000 };
  for (const [status, expected] of [
    [{ allowed: true }, "allow"],
    [{ allowed: false, denied: true }, "deny"],
    [{}, "deny"],
    [undefined, "deny"],
  ] as const) {
    const { clock, client, asked } = answering(status);
    const identity = { name: "ann", groups: ["a"], uid: "7", extra: { scopes: ["x"] } };
    const authorizer = reviewAuthorizer(ttl, { clock, client });
    assert.equal(await authorizer.authorize({ ...question, identity }, signal), expected);
    const bare = { name: "ann", groups: ["a"] };
    assert.equal(await authorizer.authorize({ ...question, identity: bare }, signal), expected);
    const spec = { user: "ann", groups: ["a"], resourceAttributes };
    assert.deepEqual(asked, [{ spec: { ...spec, uid: "7", extra: { scopes: ["x"] } } }, { spec }]);
  }
});

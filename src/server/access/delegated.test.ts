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

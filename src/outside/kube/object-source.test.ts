import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeApiServer } from "../../../test/sim/fake-apiserver.ts";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type { Secret } from "../../api/generated/types.ts";
import { isOutside } from "../../kit/errors.ts";
import { silentLog } from "../../kit/log.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { TaskScope } from "../../kit/scope.ts";
import { KubeClient, PolledObjects, RequestedTokens, SECRETS, WatchedObjects } from "./kube.ts";

const PLACE = { namespace: "default", name: "key" };
const AT = { collection: "secrets", namespace: "default" };
const signal = new AbortController().signal;

function world() {
  const clock = new SimClock();
  const random = createSeededRandom(1);
  const server = new FakeApiServer(clock, random);
  const client = new KubeClient({}, { transport: server, clock, log: silentLog });
  const scope = new TaskScope("test", { clock, log: silentLog });
  const objects = new WatchedObjects({ client, clock, random, log: silentLog, scope });
  const secret = (value: string, more = {}) =>
    server.objects.create(AT, { metadata: { name: "key" }, data: { value }, ...more });
  const settled = async <T>(promise: Promise<T>, ms = 1_000): Promise<T> => {
    // Requests wait for the clock: it must have stopped before the answer is checked.
    await Promise.allSettled([promise, clock.advance(ms)]);
    return await promise;
  };
  return { clock, server, client, scope, objects, secret, settled, random };
}

test("WatchedObjects reports an object that is created, changed and deleted", async () => {
  const { clock, server, objects, secret } = world();
  const seen: (string | undefined)[] = [];
  const stop = objects.follow(SECRETS, PLACE, (object: Secret | undefined) =>
    seen.push(object?.data?.["value"]),
  );
  await clock.advance(1_000);
  secret("YQ==");
  await clock.advance(1_000);
  server.objects.patch({ ...AT, name: "key" }, false, {
    body: { data: { value: "Yg==" } },
    strategic: false,
  });
  await clock.advance(1_000);
  server.objects.delete({ ...AT, name: "key" }, {});
  await clock.advance(1_000);
  assert.deepEqual(seen, [undefined, "YQ==", "Yg==", undefined]);
  stop();
  secret("Yw==");
  await clock.advance(1_000);
  assert.equal(seen.length, 4);
  assert.equal(objects.size, 0);
});

test("WatchedObjects watches once for several, until the last has left", async () => {
  const { clock, objects, secret } = world();
  secret("YQ==");
  const first = objects.follow(SECRETS, PLACE);
  await clock.advance(1_000);
  const reported: unknown[] = [];
  const second = objects.follow(SECRETS, PLACE, (object) => reported.push(object?.data));
  assert.deepEqual(reported, [{ value: "YQ==" }], "what is known is reported at once");
  assert.equal(objects.size, 1);
  first();
  first();
  assert.equal(objects.size, 1);
  second();
  assert.equal(objects.size, 0);
});

test("WatchedObjects gives what was known while the API is away, and nothing unknown", async () => {
  const { clock, server, objects, secret, settled } = world();
  secret("YQ==");
  objects.follow(SECRETS, PLACE);
  assert.deepEqual((await settled(objects.get(SECRETS, PLACE, signal)))?.data, { value: "YQ==" });
  server.goDown();
  await clock.advance(3_600_000);
  assert.deepEqual((await settled(objects.get(SECRETS, PLACE, signal)))?.data, { value: "YQ==" });
  const other = { ...PLACE, name: "other" };
  await assert.rejects(settled(objects.get(SECRETS, other, signal)), (error) =>
    isOutside(error, "unavailable"),
  );
  objects.follow(SECRETS, other);
  await assert.rejects(settled(objects.get(SECRETS, other, signal), 20_000), (error) =>
    isOutside(error, "deadline"),
  );
  server.comeBack();
  await clock.advance(60_000);
  assert.equal(await settled(objects.get(SECRETS, other, signal)), undefined);
});

test("WatchedObjects stops watching what cannot change", async () => {
  const { clock, server, objects, secret, settled } = world();
  secret("YQ==", { immutable: true });
  objects.follow(SECRETS, PLACE);
  await clock.advance(1_000);
  server.goDown();
  await clock.advance(10_000);
  const found = await settled(objects.get(SECRETS, PLACE, signal));
  assert.deepEqual(found?.data, { value: "YQ==" });
});

test("PolledObjects sees a change at its next poll, and polls no more often than needed", async () => {
  const { clock, server, client, scope, secret, settled } = world();
  const options = { freshMs: () => 60_000, everyMs: 60_000 };
  const objects = new PolledObjects(options, { client, clock, log: silentLog, scope });
  secret("YQ==");
  const seen: (string | undefined)[] = [];
  const stop = objects.follow(SECRETS, PLACE, (object: Secret | undefined) =>
    seen.push(object?.data?.["value"]),
  );
  await clock.advance(1_000);
  server.objects.delete({ ...AT, name: "key" }, {});
  const found = await settled(objects.get(SECRETS, PLACE, signal));
  assert.deepEqual(found?.data, { value: "YQ==" }, "what was just received counts for a while");
  await clock.advance(120_000);
  assert.deepEqual(seen, ["YQ==", undefined]);
  stop();
  secret("Yg==");
  await clock.advance(120_000);
  assert.equal(seen.length, 2);
  assert.deepEqual((await settled(objects.get(SECRETS, PLACE, signal)))?.data, { value: "Yg==" });
});

test("PolledObjects answers whoever begins to follow an object with nothing from before", async () => {
  const { clock, server, client, scope, secret, settled } = world();
  let freshMs = 60_000;
  const options = { freshMs: () => freshMs, everyMs: 60_000 };
  const objects = new PolledObjects(options, { client, clock, log: silentLog, scope });
  const value = async () => (await settled(objects.get(SECRETS, PLACE, signal)))?.data?.["value"];
  const replace = (text: string) => {
    server.objects.delete({ ...AT, name: "key" }, {});
    secret(text);
  };
  secret("YQ==");
  objects.follow(SECRETS, PLACE);
  assert.equal(await value(), "YQ==");
  replace("Yg==");
  assert.equal(await value(), "YQ==", "one pod is answered from what is known");
  objects.follow(SECRETS, PLACE);
  assert.equal(await value(), "Yg==", "a new pod is not");
  replace("Yw==");
  const asked = objects.get(SECRETS, PLACE, signal);
  objects.follow(SECRETS, PLACE);
  replace("ZA==");
  await settled(asked);
  assert.equal(await value(), "ZA==", "nor by an answer to an older question");
  freshMs = 0;
  replace("ZQ==");
  assert.equal(await value(), "ZQ==", "how long answers count may change");
  freshMs = 60_000;
  server.goDown();
  await clock.advance(120_000);
  assert.equal(await value(), "ZQ==", "what is known stays so while the API is away");
  objects.follow(SECRETS, PLACE);
  await assert.rejects(value(), (error) => isOutside(error, "unavailable"));
});

test("PolledObjects asks each time for what was absent", async () => {
  const { clock, client, scope, secret, settled } = world();
  const options = { freshMs: () => 60_000, everyMs: 60_000 };
  const objects = new PolledObjects(options, { client, clock, log: silentLog, scope });
  objects.follow(SECRETS, PLACE);
  assert.equal(await settled(objects.get(SECRETS, PLACE, signal)), undefined);
  secret("YQ==");
  const found = await settled(objects.get(SECRETS, PLACE, signal));
  assert.deepEqual(found?.data, { value: "YQ==" });
});

test("RequestedTokens asks once, again after four fifths, and keeps an old one while it is good", async () => {
  const { clock, server, client, random, settled } = world();
  let asked = 0;
  server.special.set("/api/v1/namespaces/default/serviceaccounts/app/token", () => {
    asked += 1;
    const expirationTimestamp = new Date(clock.wall() + 600_000).toISOString();
    return {
      spec: { expirationSeconds: 600 },
      status: { token: `t${asked}`, expirationTimestamp },
    };
  });
  const tokens = new RequestedTokens({ client, clock, random, log: silentLog });
  const options = {
    namespace: "default",
    serviceAccount: "app",
    audiences: [],
    expirationSeconds: 600,
    pod: { name: "p", uid: "u" },
  };
  const [a, b] = await settled(
    Promise.all([tokens.token(options, signal), tokens.token(options, signal)]),
  );
  assert.deepEqual([a?.token, b?.token], ["t1", "t1"]);
  await clock.advance(460_000);
  assert.equal((await settled(tokens.token(options, signal))).token, "t1");
  await clock.advance(20_000);
  server.goDown();
  assert.equal((await settled(tokens.token(options, signal))).token, "t1", "still good");
  server.comeBack();
  assert.equal((await settled(tokens.token(options, signal))).token, "t2");
  tokens.forget("u");
  assert.equal((await settled(tokens.token(options, signal))).token, "t3");
  server.goDown();
  await clock.advance(700_000);
  await assert.rejects(settled(tokens.token(options, signal)), (error) => isOutside(error));
});

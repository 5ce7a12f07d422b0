import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../../../test/sim/fake-api-objects.ts";
import type { FakeApiServer } from "../../../../test/sim/fake-apiserver.ts";
import {
  AT,
  assertPair,
  FILES,
  HOUR_MS,
  issued,
  MINUTE_MS,
  mounting,
  PLURAL,
  podWith,
  SETUP,
  SIGNER,
  VOLUME,
  world,
} from "../../../../test/support/certificate-world.ts";
import { condition } from "../../../../test/support/pod-signer.ts";
import { parseCsrDer } from "../../../outside/x509/x509.ts";

test("a request names the pod, contains only the key, and its answer becomes files", async () => {
  const given = await world();
  const more = { ...FILES, maxExpirationSeconds: 7200, userAnnotations: { "a.test/b": "c" } };
  await issued(given, podWith(more));
  const [request] = given.requests();
  assert.ok(request);
  const { stubPKCS10Request, ...spec } = request.spec;
  const uidAt = (collection: string, name: string, namespace?: string) =>
    given.server.objects.get({ collection, namespace, name }).metadata.uid;
  assert.deepEqual(spec, {
    signerName: SIGNER,
    maxExpirationSeconds: 7200,
    podName: "p",
    podUID: "u1",
    nodeName: "n",
    nodeUID: uidAt("nodes", "n"),
    serviceAccountName: "robot",
    serviceAccountUID: uidAt("serviceaccounts", "robot", "default"),
    unverifiedUserAnnotations: { "a.test/b": "c" },
  });
  assert.match(request.metadata?.name ?? "", /^req-/);
  assert.deepEqual(request.metadata?.ownerReferences, [
    { apiVersion: "v1", kind: "Pod", name: "p", uid: "u1" },
  ]);
  const csr = parseCsrDer(Buffer.from(stubPKCS10Request, "base64"));
  assert.equal(csr.signatureIsValid, true);
  assert.deepEqual(csr.subject, { commonName: "", organizations: [] });
  await assertPair(given);
  const [key, chain] = [await given.read("key.pem"), await given.read("chain.pem")];
  assert.match(key ?? "", /^-----BEGIN PRIVATE KEY-----\n/);
  assert.ok(chain?.endsWith(given.signer.authorityPem));
  assert.equal(await given.read("bundle.pem"), `${key}${chain}`);
  const { mode } = (await given.host.files.facts(`${VOLUME}/key.pem`, { follow: true })) ?? {};
  assert.equal((mode ?? 0) & 0o007, 0, "nobody else may read it");
  assert.deepEqual([given.faults, given.events], [[], []]);
});

test("without a signer a pod makes one request, waits, names the signer, and continues as soon as it signs", async () => {
  const given = await world();
  const first = mounting(given, podWith());
  await given.clock.advance(HOUR_MS);
  assert.match(first.failed, /unmounted volumes=\[v\]/);
  assert.equal(given.requests().length, 1);
  const request = given.requests()[0]?.metadata?.name;
  const why = `PodCertificateRequest default/${request} waits for signer ${SIGNER}`;
  assert.deepEqual(
    [...new Set(given.faults)],
    [`${SETUP}credential bundle is not issued yet: ${why}`],
  );
  assert.match(given.metrics.expose(), /{signer_name="example.test\/s",state="not_yet_issued"} 1/);
  const second = mounting(given, podWith());
  await given.clock.advance(MINUTE_MS);
  given.issue();
  await given.clock.advance(100);
  assert.equal(second.done, true);
  assert.match(given.metrics.expose(), /state="fresh"} 1/);
});

for (const [type, reason] of [
  ["Denied", "was denied"],
  ["Failed", "failed"],
] as const)
  test(`${type}: the event says why, the pod waits, nothing is asked again`, async () => {
    const given = await world();
    mounting(given, podWith());
    await given.clock.advance(500);
    const [request] = given.requests();
    assert.ok(request);
    const { clock, answer } = given;
    answer(request, { conditions: [condition(type, "Because", "it is so", clock.wall())] });
    await clock.advance(24 * HOUR_MS);
    const stated = `PodCertificateRequest was permanently ${type.toLowerCase()}: reason="Because" message="it is so"`;
    assert.deepEqual([...new Set(given.faults)], [`${SETUP}${stated}`]);
    const text = `PodCertificateRequest default/${request.metadata?.name} ${reason}, reason="Because", message="it is so"`;
    assert.deepEqual(given.events, [`Warning ${type}: ${text}`]);
    assert.equal(given.requests().length, 1);
    assert.match(given.metrics.expose(), new RegExp(`state="${type.toLowerCase()}"} 1`));
  });

test("a certificate about another key is none", async () => {
  const given = await world();
  mounting(given, podWith());
  await given.clock.advance(500);
  const [request] = given.requests();
  assert.ok(request);
  const times = { now: given.clock.wall(), refreshInMs: HOUR_MS, lifeMs: HOUR_MS };
  const status = given.signer.issue(request, times);
  given.answer(request, { ...status, certificateChain: given.signer.authorityPem });
  await given.clock.advance(10_000);
  assert.match(given.events.join(), /Failed: .*for a different key/);
  assert.equal(await given.read("bundle.pem"), undefined);
});

test("at its time another key and certificate replace both files", async () => {
  const given = await world();
  await issued(given, podWith(FILES), 12 * HOUR_MS);
  const first = await given.read("key.pem");
  await given.clock.advance(12 * HOUR_MS - MINUTE_MS);
  assert.equal(given.requests().length, 1, "not before its time");
  await given.clock.advance(6 * MINUTE_MS);
  assert.equal(given.requests().length, 2, "five minutes later at most");
  assert.equal(await given.read("key.pem"), first, "the old one until there is a new one");
  assert.match(given.metrics.expose(), /state="fresh"} 1/);
  given.issue();
  await given.clock.advance(500);
  assert.notEqual(await given.read("key.pem"), first);
  await assertPair(given);
  assert.deepEqual([given.faults, given.events], [[], []]);
});

test("each source has a certificate of its own, and asks at a time of its own", async () => {
  const given = await world();
  const pod = podWith();
  const source = (name: string) => ({
    podCertificate: { signerName: SIGNER, keyType: "ED25519", credentialBundlePath: name },
  });
  const volumes = [{ name: "v", projected: { sources: [source("a"), source("b")] } }];
  const mount = mounting(given, { ...pod, spec: { containers: [], ...pod.spec, volumes } });
  await given.clock.advance(500);
  assert.equal(given.issue(HOUR_MS), 2);
  await given.clock.advance(500);
  assert.equal(mount.done, true);
  assert.notEqual(await given.read("a"), await given.read("b"));
  assert.match(given.metrics.expose(), /state="fresh"} 2/);
  await given.clock.runUntil(() => given.requests().length === 3, HOUR_MS + 5 * MINUTE_MS);
  await given.clock.advance(1_000);
  assert.equal(given.requests().length, 3, "not both at once");
  await given.clock.advance(5 * MINUTE_MS);
  assert.equal(given.requests().length, 4);
});

test("a denied renewal leaves the files, and is reported", async () => {
  const given = await world();
  await issued(given, podWith(FILES), HOUR_MS);
  const first = await given.read("key.pem");
  const { clock } = given;
  await clock.advance(HOUR_MS + 6 * MINUTE_MS);
  const open = given.requests().find(({ status }) => status === undefined);
  assert.ok(open);
  given.answer(open, { conditions: [condition("Denied", "No", "more", clock.wall())] });
  await clock.advance(24 * HOUR_MS);
  assert.equal(await given.read("key.pem"), first);
  assert.equal(given.requests().length, 2);
  assert.deepEqual(given.faults, [
    `${SETUP}PodCertificateRequest was permanently denied: reason="No" message="more"`,
  ]);
  assert.equal(given.events.length, 1);
});

test("certificates near expiry are reported once each, until they are renewed", async () => {
  const given = await world();
  await issued(given, podWith(), HOUR_MS, 2 * HOUR_MS);
  await given.clock.advance(HOUR_MS + 20 * MINUTE_MS);
  const overdue = "Warning CertificateOverdueForRefresh: PodCertificate refresh overdue";
  assert.deepEqual(given.events, [overdue]);
  assert.match(given.metrics.expose(), /state="overdue_for_refresh"} 1/);
  await given.clock.advance(HOUR_MS);
  const expired = "Warning CertificateExpired: PodCertificate expired";
  assert.deepEqual(given.events, [overdue, expired]);
  assert.match(given.metrics.expose(), /state="expired"} 1/);
  assert.equal(given.issue(12 * HOUR_MS), 1);
  await given.clock.advance(HOUR_MS);
  assert.equal(given.events.length, 2);
  assert.match(given.metrics.expose(), /state="fresh"} 1/);
});

/** The server has no such resource in this version. */
function unserve(server: FakeApiServer, version: string, onRequest = () => {}): void {
  server.special.set(`/apis/certificates.k8s.io/${version}/namespaces/default/${PLURAL}`, () => {
    onRequest();
    throw new Refusal(404, "NotFound", "the server could not find the requested resource");
  });
}

for (const version of ["v1", "v1beta1"])
  test(`requests go to the newest version that the server has: ${version}`, async () => {
    const given = await world();
    if (version === "v1beta1") unserve(given.server, "v1");
    const reached: string[] = [];
    const path = `/apis/certificates.k8s.io/${version}/namespaces/default/${PLURAL}`;
    given.server.special.set(path, (body) => {
      reached.push(body === null ? "list" : "create");
      return body === null
        ? {
            metadata: { resourceVersion: `${given.server.objects.version}` },
            items: given.requests(),
          }
        : given.server.objects.create(AT, body as Readonly<Record<string, unknown>>);
    });
    const mount = mounting(given, podWith());
    await given.clock.advance(1_000);
    assert.equal(given.issue(), 1);
    await given.clock.advance(MINUTE_MS);
    assert.equal(mount.done, true);
    assert.deepEqual(reached.slice(0, 2), ["create", "list"]);
  });

test("a server that is away is asked in growing pauses, one without the resource is named", async () => {
  const given = await world();
  given.server.goDown();
  mounting(given, podWith());
  await given.clock.advance(10 * MINUTE_MS);
  const away = `${SETUP}credential bundle is not issued yet: while fetching service account: connect`;
  assert.ok((given.faults.at(-1) ?? "").startsWith(away), given.faults.join("\n"));
  given.server.comeBack();
  let refusals = 0;
  unserve(given.server, "v1");
  unserve(given.server, "v1beta1", () => {
    refusals += 1;
  });
  mounting(given, podWith());
  await given.clock.advance(10 * MINUTE_MS);
  assert.ok(refusals >= 9 && refusals <= 11, `${refusals} requests in 10 minutes`);
  assert.equal(
    given.faults.at(-1),
    `${SETUP}credential bundle is not issued yet: the API server does not serve ${PLURAL} of certificates.k8s.io in v1 or v1beta1 (feature gate PodCertificateRequest)`,
  );
  given.server.special.clear();
  await given.clock.advance(MINUTE_MS);
  assert.equal(given.requests().length, 1);
});

test("a deleted request is recreated, once a minute at most", async () => {
  const given = await world();
  mounting(given, podWith());
  let deleted = 0;
  for (let minute = 0; minute < 20; minute += 1) {
    await given.clock.advance(MINUTE_MS);
    for (const { metadata } of given.requests()) {
      given.server.objects.delete({ ...AT, name: metadata?.name ?? "" }, {});
      deleted += 1;
    }
  }
  assert.ok(deleted > 10 && deleted <= 20, `${deleted} requests in 20 minutes`);
  assert.match(given.faults.at(-1) ?? "", /appears to have been deleted|waits for signer/);
});

test("a request that a cache does not show yet is waited for, but not for ever", async () => {
  for (const isSigned of [true, false]) {
    const given = await world();
    const { server, clock } = given;
    server.special.set(`/apis/certificates.k8s.io/v1/namespaces/default/${PLURAL}`, (body) =>
      body === null
        ? { metadata: { resourceVersion: `${server.objects.version}` }, items: [] }
        : server.objects.create(AT, body as Readonly<Record<string, unknown>>),
    );
    const mount = mounting(given, podWith());
    await clock.advance(MINUTE_MS);
    if (isSigned) assert.equal(given.issue(), 1);
    await clock.advance(8 * MINUTE_MS);
    assert.equal(mount.done, isSigned);
    assert.equal(given.requests().length, 1);
    await clock.advance(7 * MINUTE_MS);
    assert.equal(given.requests().length, isSigned ? 1 : 2);
  }
});

test("a pod that is gone asks for nothing any more", async () => {
  const given = await world();
  await issued(given, podWith(), HOUR_MS);
  const work = given.volumes.unmount(podWith());
  await given.clock.advance(1_000);
  await work;
  await given.clock.advance(48 * HOUR_MS);
  assert.equal(given.requests().length, 1);
  assert.deepEqual(given.events, []);
  assert.ok(!given.metrics.expose().includes("podcertificate_states{"));
  assert.equal(given.clock.pending, 0, "nothing is waited for");
});

test("another agent asks again; what is there stays until the answer comes", async () => {
  const given = await world();
  await issued(given, podWith(FILES));
  const first = await given.read("key.pem");
  await Promise.all([given.scope[Symbol.asyncDispose](), given.clock.advance(1_000)]);
  const next = mounting(given.agent(), podWith(FILES));
  await given.clock.advance(1_000);
  assert.equal(given.requests().length, 2);
  assert.equal(await given.read("key.pem"), first);
  await given.clock.advance(10_000);
  assert.equal(next.done, true, "containers can be started with what is there");
  assert.equal(given.faults.length, 1);
  assert.equal(given.issue(), 1);
  await given.clock.advance(500);
  assert.notEqual(await given.read("key.pem"), first);
  await assertPair(given);
});

// Requests for certificates of pods in the local API: who may ask for what, and what a signer may answer.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { PodCertificateRequest } from "../../src/api/generated/types.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { createStubCsr, generateKeyOfType } from "../../src/outside/x509/x509.ts";
import { condition, PodSigner } from "../support/pod-signer.ts";
import { accessIn, type LocalApiUnderTest, startLocal } from "./local-api.ts";

const GROUP = "/apis/certificates.k8s.io";
const REQUESTS = `${GROUP}/v1/namespaces/default/podcertificaterequests`;
const HOUR_MS = 3_600_000;
const podCertificate = {
  signerName: "example.test/s",
  keyType: "ED25519",
  credentialBundlePath: "bundle.pem",
};

interface Named {
  readonly metadata: { readonly name: string; readonly uid: string };
}

let server: LocalApiUnderTest;
let signer: PodSigner;
let spec: PodCertificateRequest["spec"];
const clock = createSystemClock();

before(async () => {
  server = await startLocal();
  signer = await PodSigner.create(clock.wall());
  const node = await server.must<Named>("POST", "/api/v1/nodes", { metadata: { name: "n1" } });
  const pod = await server.must<Named>("POST", "/api/v1/namespaces/default/pods", {
    metadata: { name: "p" },
    spec: {
      nodeName: "n1",
      containers: [{ name: "c", image: "i" }],
      volumes: [{ name: "v", projected: { sources: [{ podCertificate }] } }],
    },
  });
  const account = await server.must<Named>(
    "GET",
    "/api/v1/namespaces/default/serviceaccounts/default",
  );
  spec = {
    signerName: "example.test/s",
    podName: "p",
    podUID: pod.metadata.uid,
    serviceAccountName: "default",
    serviceAccountUID: account.metadata.uid,
    nodeName: "n1",
    nodeUID: node.metadata.uid,
    stubPKCS10Request: Buffer.from(createStubCsr(await generateKeyOfType("ED25519"))).toString(
      "base64",
    ),
  };
});
after(() => server[Symbol.asyncDispose]());

const make = (more: Partial<PodCertificateRequest["spec"]> = {}) =>
  server.must<PodCertificateRequest & Named>("POST", REQUESTS, {
    metadata: { generateName: "req-" },
    spec: { ...spec, ...more },
  });

test("requests are of the stable version, as in an API server of 1.37", async () => {
  const group = await server.must<{ versions: readonly { version: string }[] }>("GET", GROUP);
  assert.deepEqual(
    group.versions.map(({ version }) => version),
    ["v1"],
  );
  const { resources } = await server.must<{ resources: readonly { name: string }[] }>(
    "GET",
    `${GROUP}/v1`,
  );
  const names = resources.map(({ name }) => name);
  assert.ok(
    names.includes("podcertificaterequests") && names.includes("podcertificaterequests/status"),
  );
  const beta = REQUESTS.replace("v1", "v1beta1");
  assert.equal((await server.request({ method: "GET", path: beta })).status, 404);
});

test("fields that only the beta had are refused", async () => {
  const { status, body } = await server.request({
    method: "POST",
    path: `${REQUESTS}?fieldValidation=Strict`,
    body: { metadata: { name: "old" }, spec: { ...spec, pkixPublicKey: "AA==" } },
  });
  assert.equal(status, 400);
  assert.match(JSON.stringify(body), /unknown field \\"spec.pkixPublicKey\\"/);
});

test("a request lasts a day unless it says else, and is never changed", async () => {
  const made = await make();
  assert.equal(made.spec.maxExpirationSeconds, 86_400);
  assert.match(made.metadata.name, /^req-/);
  const { status, body } = await server.request({
    method: "PATCH",
    path: `${REQUESTS}/${made.metadata.name}`,
    contentType: "application/merge-patch+json",
    body: { spec: { signerName: "example.test/other" } },
  });
  assert.equal(status, 422, JSON.stringify(body));
});

for (const [what, more, code, text] of [
  ["a signer without a path", { signerName: "x" }, 422, /spec.signerName: .*fully qualified/],
  ["half an hour", { maxExpirationSeconds: 1800 }, 422, /must be in the range \[3600, 7862400\]/],
  [
    "two days of Kubernetes' own signer",
    { signerName: "kubernetes.io/x", maxExpirationSeconds: 172_800 },
    422,
    /must be in the range \[3600, 86400\]/,
  ],
  ["no PKCS #10", { stubPKCS10Request: "AAAA" }, 422, /spec.stubPKCS10Request/],
  ["a pod that is not there", { podName: "none" }, 403, /pods "default\/none" not found/],
  ["a pod of before", { podUID: "other" }, 403, /does not have the UID/],
  [
    "another account's UID",
    { serviceAccountUID: "other" },
    403,
    /serviceaccounts .*does not have the UID/,
  ],
] as const)
  test(`refused: ${what}`, async () => {
    const body = { metadata: { generateName: "req-" }, spec: { ...spec, ...more } };
    const reply = await server.request({ method: "POST", path: REQUESTS, body });
    assert.equal(reply.status, code, JSON.stringify(reply.body));
    assert.match((reply.body as { message: string }).message, text);
  });

test("a signature that was tampered with is refused", async () => {
  const bytes = Buffer.from(spec.stubPKCS10Request, "base64");
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  await assert.rejects(
    make({ stubPKCS10Request: bytes.toString("base64") }),
    /could not verify the signature/,
  );
});

test("a node asks for signers that the pod mounts only, an administrator for any", async () => {
  const { identity } = accessIn(server.nodeKubeconfig);
  const other = { ...spec, signerName: "example.test/other" };
  const body = { metadata: { generateName: "req-" }, spec: other };
  const refused = await server.request({ method: "POST", path: REQUESTS, body }, identity);
  assert.equal(refused.status, 403);
  assert.match(
    (refused.body as { message: string }).message,
    /pod "default\/p" does not mount a podCertificate projected volume for signer "example.test\/other"/,
  );
  assert.equal((await make(other)).spec.signerName, "example.test/other");
});

test("a node asks in its own name only, and answers nothing", async () => {
  const { identity } = accessIn(server.nodeKubeconfig);
  const body = { metadata: { generateName: "req-" }, spec };
  const own = await server.request({ method: "POST", path: REQUESTS, body }, identity);
  assert.equal(own.status, 201, JSON.stringify(own.body));
  const foreign = { ...body, spec: { ...spec, nodeName: "n2" } };
  const reply = await server.request({ method: "POST", path: REQUESTS, body: foreign }, identity);
  assert.equal(reply.status, 403);
  const path = `${REQUESTS}/${(own.body as Named).metadata.name}/status`;
  const answer = await server.request({ method: "PUT", path, body: own.body }, identity);
  assert.equal(answer.status, 403);
});

test("a status is written once, whole, and within the limits of the request", async () => {
  const made = await make({ maxExpirationSeconds: 7200 });
  const now = clock.wall();
  const put = (status: object) =>
    server.request({
      method: "PUT",
      path: `${REQUESTS}/${made.metadata.name}/status`,
      body: { ...made, metadata: { name: made.metadata.name }, status },
    });
  const issued = (refreshInMs: number, lifeMs: number) =>
    signer.issue(made, { now, refreshInMs, lifeMs }) ?? {};
  const bad: readonly (readonly [object, RegExp])[] = [
    [{ conditions: [condition("Issued", "R", "", now)] }, /status.notBefore: Required/],
    [issued(0, 2 * HOUR_MS), /lifetime must be <= spec.maxExpirationSeconds \(7200\)/],
    [issued(-HOUR_MS, HOUR_MS), /at least 10 minutes after status.notBefore/],
    [issued(HOUR_MS, HOUR_MS), /at least 10 minutes before status.notAfter/],
    [
      { ...issued(0, HOUR_MS), conditions: [condition("Denied", "R", "", now)] },
      /non-condition status fields must be empty/,
    ],
    [
      { conditions: [condition("Denied", "R", "", now), condition("Failed", "R", "", now)] },
      /at most one condition/,
    ],
    [{ notAfter: "2030-01-01T00:00:00Z" }, /immutable unless transitioning/],
  ];
  for (const [status, text] of bad) {
    const reply = await put(status);
    assert.equal(reply.status, 422, JSON.stringify(reply.body));
    assert.match((reply.body as { message: string }).message, text);
  }
  const good = issued(0, HOUR_MS);
  assert.equal((await put(good)).status, 200);
  const again = await put({ ...good, conditions: [condition("Issued", "Again", "", now)] });
  assert.equal(again.status, 422);
  const list = await server.must<{ items: readonly Named[] }>(
    "GET",
    `${REQUESTS}?fieldSelector=metadata.name%3D${made.metadata.name},spec.nodeName%3Dn1`,
  );
  assert.equal(list.items.length, 1);
});

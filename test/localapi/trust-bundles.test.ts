// Trust bundles in the local API: names, content, who may write them, and the way of one into a pod's volume.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accessIn, type LocalApiUnderTest, startLocal } from "./local-api.ts";

const BUNDLES = "/apis/certificates.k8s.io/v1/clustertrustbundles";
const SIGNER = "example.test/roots";

interface Bundle {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly signerName?: string; readonly trustBundle: string };
}

let server: LocalApiUnderTest;
let pem: string;

before(async () => {
  server = await startLocal();
  pem = accessIn(server.nodeKubeconfig).caPem;
});
after(() => server[Symbol.asyncDispose]());

const bundle = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { trustBundle: pem, ...spec },
});

test("bundles are made, listed by signer, shown as a table, and changed but for their signer", async () => {
  await server.must("POST", BUNDLES, bundle("plain"));
  await server.must("POST", BUNDLES, bundle("example.test:roots:live", { signerName: SIGNER }));
  const { items } = await server.must<{ items: readonly Bundle[] }>(
    "GET",
    `${BUNDLES}?fieldSelector=spec.signerName%3D${encodeURIComponent(SIGNER)}`,
  );
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ["example.test:roots:live"],
  );
  const path = `${BUNDLES}/example.test:roots:live`;
  const contentType = "application/merge-patch+json";
  const patch = (spec: object) =>
    server.request({ method: "PATCH", path, contentType, body: { spec } });
  assert.equal((await patch({ trustBundle: pem + pem })).status, 200);
  const moved = await patch({ signerName: "example.test/other" });
  assert.equal(moved.status, 422);
  assert.match(
    (moved.body as { message: string }).message,
    /spec.signerName: .*field is immutable/,
  );
});

const WRONG: readonly (readonly [string, () => object, RegExp])[] = [
  [
    "a colon without a signer",
    () => bundle("a:b"),
    /without signer name must not have ":" in its name/,
  ],
  [
    "a name that is not its signer's",
    () => bundle("live", { signerName: SIGNER }),
    /must be named with prefix example.test:roots:/,
  ],
  [
    "a name after the prefix that is no name",
    () => bundle("example.test:roots:A_", { signerName: SIGNER }),
    /metadata.name: .*RFC 1123/,
  ],
  ["a signer without a path", () => bundle("x:a", { signerName: "x" }), /fully qualified domain/],
  ["no certificate", () => bundle("a", { trustBundle: "text" }), /at least one trust anchor/],
  ["nothing", () => bundle("a", { trustBundle: "" }), /spec.trustBundle: Required value/],
  [
    "a key",
    () => bundle("a", { trustBundle: pem.replaceAll("CERTIFICATE", "PRIVATE KEY") }),
    /entry 0 has bad block type: PRIVATE KEY/,
  ],
  [
    "headers",
    () => bundle("a", { trustBundle: pem.replace("-----\n", "-----\nComment: x\n") }),
    /entry 0 has PEM block headers/,
  ],
  [
    "what is no certificate",
    () =>
      bundle("a", {
        trustBundle: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      }),
    /entry 0 does not parse as X.509/,
  ],
];

for (const [what, body, text] of WRONG)
  test(`refused: ${what}`, async () => {
    const reply = await server.request({ method: "POST", path: BUNDLES, body: body() });
    assert.equal(reply.status, 422, JSON.stringify(reply.body));
    assert.match((reply.body as { message: string }).message, text);
  });

test("a node reads bundles and writes none", async () => {
  const { identity } = accessIn(server.nodeKubeconfig);
  const list = await server.request({ method: "GET", path: BUNDLES }, identity);
  assert.equal(list.status, 200);
  const made = await server.request(
    { method: "POST", path: BUNDLES, body: bundle("mine") },
    identity,
  );
  assert.equal(made.status, 403);
});

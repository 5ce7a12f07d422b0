// The control plane of the tests does what tests rely on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withBox } from "../box/box.ts";
import { apiServerObstacle, startApiServer } from "./apiserver.ts";

const skip = apiServerObstacle() ?? false;

test("startApiServer serves, keeps what was written through a kill, and knows its users", {
  skip,
}, async () => {
  await using server = await startApiServer();
  const created = await server.must<{ metadata: { uid: string } }>(
    "POST",
    "/api/v1/namespaces/default/configmaps",
    { metadata: { name: "kept" }, data: { a: "b" } },
  );
  await server.restart();
  const read = await server.must<{ metadata: { uid: string } }>(
    "GET",
    "/api/v1/namespaces/default/configmaps/kept",
  );
  assert.equal(read.metadata.uid, created.metadata.uid);
  assert.match(await server.kubectl(["get", "configmap", "kept", "-o", "name"]), /configmap\/kept/);

  const node = await server.authority.client({ name: "system:node:n1", groups: ["system:nodes"] });
  const named = (name: string) => ({
    method: "POST",
    path: "/api/v1/nodes",
    body: { metadata: { name } },
  });
  assert.equal((await server.requestAs(node, named("n1"))).status, 201);
  assert.equal((await server.requestAs(node, named("n2"))).status, 403, "NodeRestriction");
  const anonymous = await server.requestAs(undefined, { method: "GET", path: "/api/v1/nodes" });
  assert.equal(anonymous.status, 403);
});

test("signRequests answers a request that was made with a bootstrap token", { skip }, async () => {
  const { createCsr, generateKeyPair, parseCertificate } = await import(
    "../../src/outside/x509/x509.ts"
  );
  const { readFileSync } = await import("node:fs");
  await using server = await startApiServer();
  await using signer = server.signRequests({ lifetimeSeconds: 60 });
  const config = JSON.parse(readFileSync(await server.bootstrapKubeconfig(), "utf8"));
  const csr = createCsr(
    { commonName: "system:node:n1", organizations: ["system:nodes"] },
    { dnsNames: [], ipAddresses: [] },
    await generateKeyPair(),
  );
  const made = await server.request({
    method: "POST",
    path: "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    token: config.users[0].user.token,
    body: {
      metadata: { name: "request" },
      spec: {
        request: Buffer.from(csr).toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client-kubelet",
        usages: ["digital signature", "key encipherment", "client auth"],
      },
    },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  while (signer.signed.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const pem = Buffer.from(signer.signed[0]?.status?.certificate ?? "", "base64").toString("utf8");
  assert.equal(parseCertificate(pem).subject.commonName, "system:node:n1");
});

test("startApiServer runs inside a box on the node's address", { skip }, async () => {
  await withBox({ containerd: "none" }, async (box) => {
    await using server = await startApiServer({ box });
    assert.equal(server.url, `https://${box.nodeAddress}:6443`);
    await server.must("GET", "/api/v1/namespaces/default");
    assert.match(await server.kubectl(["get", "namespaces", "-o", "name"]), /namespace\/default/);
    await server.restart();
    await server.must("GET", "/api/v1/namespaces/kube-node-lease");
  });
});

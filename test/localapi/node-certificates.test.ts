// Certificates that a node gets without anybody's approval, and the files in which the local API keeps its keys.
import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { CertificateSigningRequest } from "../../src/api/generated/types.ts";
import {
  type AlternativeNames,
  createCsr,
  generateKeyPair,
  parseCertificate,
} from "../../src/outside/x509/x509.ts";
import type { Identity } from "../kube/pki.ts";
import { accessIn, type LocalApiUnderTest, startLocal } from "./local-api.ts";

const REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const CLIENT = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING = "kubernetes.io/kubelet-serving";
const WAIT_MS = 10_000;
const NODE = "system:node:n1";
const NODES = ["system:nodes"];
const NO_NAMES: AlternativeNames = { dnsNames: [], ipAddresses: [] };

let server: LocalApiUnderTest;
before(async () => {
  server = await startLocal();
});
after(() => server[Symbol.asyncDispose]());

interface Asked {
  readonly signerName?: string;
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  readonly names?: AlternativeNames;
  /** Default the node's. */
  readonly identity?: Identity;
}

let count = 0;

/** Sends a request; resolves with its name. */
async function ask(asked: Asked): Promise<string> {
  const { signerName = CLIENT, commonName = NODE, organizations = NODES, names = NO_NAMES } = asked;
  const csr = createCsr({ commonName, organizations }, names, await generateKeyPair());
  count += 1;
  const name = `csr-${count}`;
  const usages = ["digital signature", signerName === SERVING ? "server auth" : "client auth"];
  const reply = await server.request(
    {
      method: "POST",
      path: REQUESTS,
      body: { metadata: { name }, spec: { request: btoa(csr), signerName, usages } },
    },
    asked.identity ?? accessIn(server.nodeKubeconfig).identity,
  );
  assert.equal(reply.status, 201, JSON.stringify(reply.body));
  return name;
}

const get = (name: string) => server.must<CertificateSigningRequest>("GET", `${REQUESTS}/${name}`);

/** Resolves with the certificate (PEM) once it is issued. */
async function issued(name: string): Promise<string> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const { certificate } = (await get(name)).status ?? {};
    if (certificate) return atob(certificate);
    assert.ok(performance.now() < deadline, `${name} is not issued`);
    await sleep(20);
  }
}

test("a node gets certificates of its own, and no others", async () => {
  const dns: AlternativeNames = { dnsNames: ["n1"], ipAddresses: [] };
  const refused = [
    { organizations: ["system:masters"] },
    { organizations: ["system:nodes", "system:masters"] },
    { organizations: [] },
    { commonName: "system:node:n2" },
    { commonName: "admin" },
    { names: dns },
    { commonName: "jane", identity: server.admin.identity },
    { commonName: "admin", organizations: ["system:masters"], signerName: SERVING, names: dns },
    { signerName: "kubernetes.io/kube-apiserver-client" },
  ];
  const waiting: string[] = [];
  for (const each of refused) waiting.push(await ask(each));
  // Those come last: when they are issued, the others were reviewed.
  const own = parseCertificate(await issued(await ask({})));
  assert.deepEqual(own.subject, { commonName: NODE, organizations: NODES });
  const serving = parseCertificate(await issued(await ask({ signerName: SERVING, names: dns })));
  assert.deepEqual(serving.names, dns);
  for (const [index, name] of waiting.entries()) {
    const { status } = await get(name);
    assert.deepEqual(status ?? {}, {}, `${index}: ${refused[index]?.commonName}`);
  }
});

test("keys, certificates and objects are for the owner only", () => {
  const folder = join(server.folder, "api");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  assert.ok(names.includes("objects.db"), names.join());
  assert.ok(names.filter((name) => name.endsWith(".key")).length >= 3, names.join());
  for (const path of [folder, server.kubeconfig, ...names.map((name) => join(folder, name))]) {
    const { mode } = statSync(path);
    assert.equal(mode & 0o077, 0, `${path} has mode ${(mode & 0o777).toString(8)}`);
  }
});

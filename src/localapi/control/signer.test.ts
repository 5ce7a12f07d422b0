import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
  CertificateSigningRequestSpec,
} from "../../api/generated/types.ts";
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";
import { type Log, silentLog } from "../../kit/log.ts";
import { createSeededRandom } from "../../kit/random.ts";
import { openDatabase } from "../../outside/database/database.ts";
import {
  createCsr,
  generateKeyPair,
  parseCertificate,
  signCertificate,
} from "../../outside/x509/x509.ts";
import type { ApiObject, StoredObject } from "../api-object.ts";
import { SIGNING_REQUEST_KIND } from "../kinds/catalog.ts";
import { ObjectStore, STORE_OPTIONS } from "../store/store.ts";
import { signingController } from "./signer.ts";

const HOUR_MS = 3_600_000;
const YEAR_SECONDS = 365 * 24 * 3600;
const CLIENT = "kubernetes.io/kube-apiserver-client";
const NODE_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING = "kubernetes.io/kubelet-serving";
const APPROVED: readonly CertificateSigningRequestCondition[] = [
  { type: "Approved", status: "True", reason: "KubectlApprove" },
];
const NODE = { commonName: "system:node:n1", organizations: ["system:nodes"] };
const NO_NAMES = { dnsNames: [], ipAddresses: [] };

const folder = mkdtempSync(join(tmpdir(), "nodelet-signer-"));
after(() => rmSync(folder, { recursive: true }));
const key = await generateKeyPair();
const csrOf = (
  subject = NODE,
  names: { dnsNames: readonly string[]; ipAddresses: readonly string[] } = NO_NAMES,
) => btoa(createCsr(subject, names, key));
let databases = 0;

/** A store with one request, and the controller for it; the authority is valid for `authorityDays`. */
async function world(
  spec: Partial<CertificateSigningRequestSpec>,
  status: CertificateSigningRequest["status"] = {},
  { authorityDays = 3650, madeMsAgo = 0 } = {},
) {
  const clock = new SimClock();
  const now = clock.wall();
  const authority = await generateKeyPair();
  const subject = { commonName: "authority", organizations: [] };
  const certificatePem = signCertificate(
    {
      subject,
      publicKey: authority.publicKey,
      use: "authority",
      notBefore: now,
      notAfter: (now + authorityDays * 24 * HOUR_MS) as WallMs,
    },
    { privateKeyPem: authority.privateKeyPem },
  );
  databases += 1;
  const database = openDatabase(join(folder, `${databases}.db`));
  const store = new ObjectStore(STORE_OPTIONS, { database, clock, log: silentLog });
  const warned: string[] = [];
  const log: Log = { ...silentLog, warn: (message) => void warned.push(message) };
  const core = {
    store,
    clock,
    random: createSeededRandom(1),
    log,
    unplannable: new WeakSet<StoredObject>(),
  };
  const request = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "r", uid: "u", creationTimestamp: rfc3339((now - madeMsAgo) as WallMs) },
    spec: {
      signerName: NODE_CLIENT,
      username: NODE.commonName,
      groups: ["system:nodes"],
      usages: [],
      request: csrOf(),
      ...spec,
    },
    status,
  };
  store.put(SIGNING_REQUEST_KIND.collection, request as ApiObject);
  const controller = signingController(core, {
    certificatePem,
    privateKeyPem: authority.privateKeyPem,
  });
  const list = () =>
    store.list(SIGNING_REQUEST_KIND.collection) as unknown as CertificateSigningRequest[];
  /** Takes all steps that are planned; how many. */
  const pass = async () => {
    const steps = controller.plan();
    for (const step of steps) await step();
    return steps.length;
  };
  return { now, pass, list, warned };
}

const DONE: Readonly<Record<string, NonNullable<CertificateSigningRequest["status"]>>> = {
  "has its certificate": { certificate: "eA==", conditions: APPROVED },
  "is denied": { conditions: [{ type: "Denied", status: "True" }] },
  "is approved and denied": { conditions: [...APPROVED, { type: "Denied", status: "True" }] },
  "has failed": { conditions: [...APPROVED, { type: "Failed", status: "True" }] },
};
for (const [how, status] of Object.entries(DONE))
  test(`a request that ${how} is not answered, and removed after an hour`, async () => {
    const recent = await world({}, status, { madeMsAgo: HOUR_MS });
    assert.equal(await recent.pass(), 0);
    assert.deepEqual(recent.list()[0]?.status, status);
    const old = await world({}, status, { madeMsAgo: HOUR_MS + 1_000 });
    assert.equal(await old.pass(), 1);
    assert.deepEqual(old.list(), []);
  });

test("a request that is not done stays however old it is", async () => {
  const { pass, list } = await world({ signerName: CLIENT }, {}, { madeMsAgo: 99 * HOUR_MS });
  assert.equal(await pass(), 0);
  assert.equal(list().length, 1);
});

for (const signerName of ["example.com/signer", "toString", "constructor", ""])
  test(`an approved request to the signer ${JSON.stringify(signerName)} is left to others`, async () => {
    const { pass, list } = await world({ signerName }, { conditions: APPROVED });
    assert.equal(await pass(), 0);
    assert.deepEqual(list()[0]?.status, { conditions: APPROVED });
  });

const FOREIGN: Readonly<Record<string, Partial<CertificateSigningRequestSpec>>> = {
  "is no certificate request": { request: btoa("no PEM") },
  "is no base64": { request: "%" },
  "is not signed with its key": { request: btoa(tampered()) },
  "has a DNS name for a client": { request: csrOf(NODE, { dnsNames: ["n1"], ipAddresses: [] }) },
  "has an IP address for a client": {
    request: csrOf(NODE, { dnsNames: [], ipAddresses: ["10.0.0.1"] }),
  },
  "has one of each": {
    request: csrOf(NODE, { dnsNames: ["n1"], ipAddresses: ["10.0.0.1"] }),
  },
};

/** A request of which the subject was changed after it had been signed. */
function tampered(): string {
  const pem = createCsr({ ...NODE, commonName: "system:node:n2" }, NO_NAMES, key);
  const body = Buffer.from(pem.replace(/-----.*-----/g, ""), "base64");
  body[body.indexOf("node:n2") + 6] = "1".charCodeAt(0);
  return `-----BEGIN CERTIFICATE REQUEST-----\n${body.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
}

for (const [how, spec] of Object.entries(FOREIGN))
  test(`a node's request that ${how} waits for approval`, async () => {
    const { pass, list, warned } = await world(spec);
    assert.equal(await pass(), 0);
    assert.deepEqual(list()[0]?.status, {});
    assert.deepEqual(warned, [], "the object can be read: no warning");
  });

test("an approved request that is none fails with the reason", async () => {
  const { pass, list } = await world({ request: btoa("no PEM") }, { conditions: APPROVED });
  assert.equal(await pass(), 1);
  const { conditions = [], certificate } = list()[0]?.status ?? {};
  assert.equal(certificate, undefined);
  const [approved, failed] = conditions;
  assert.deepEqual([approved, conditions.length], [APPROVED[0], 2]);
  assert.deepEqual([failed?.type, failed?.reason], ["Failed", "SigningFailed"]);
  assert.match(failed?.message ?? "", /no PEM block of a request/);
  assert.equal(await pass(), 0);
});

test("a node's own request is approved and signed", async () => {
  const { pass, list, now } = await world({});
  assert.equal(await pass(), 1);
  const { conditions = [], certificate = "" } = list()[0]?.status ?? {};
  assert.deepEqual(
    conditions.map(({ type, status, reason, lastUpdateTime }) => [
      type,
      status,
      reason,
      lastUpdateTime,
    ]),
    [["Approved", "True", "AutoApproved", rfc3339(now)]],
  );
  assert.deepEqual(parseCertificate(atob(certificate)).subject, NODE);
});

const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
for (const [signerName, use] of [
  [CLIENT, CLIENT_AUTH],
  [NODE_CLIENT, CLIENT_AUTH],
  [SERVING, SERVER_AUTH],
] as const)
  test(`certificates of ${signerName} are for nothing else`, async () => {
    const { pass, list } = await world({ signerName }, { conditions: APPROVED });
    await pass();
    const { conditions, certificate = "" } = list()[0]?.status ?? {};
    assert.deepEqual(conditions, APPROVED, "it was approved already");
    assert.deepEqual(new X509Certificate(atob(certificate)).keyUsage, [use]);
  });

for (const [what, expirationSeconds, authorityDays, seconds] of [
  ["a year unless it says otherwise", undefined, 3650, YEAR_SECONDS],
  ["as long as it says", 7_200, 3650, 7_200],
  ["ten minutes at the least", 1, 3650, 600],
  ["not longer than its authority", undefined, 30, 30 * 24 * 3600],
] as const)
  test(`a certificate is valid from five minutes ago, ${what}`, async () => {
    const { pass, list, now } = await world(
      expirationSeconds === undefined ? {} : { expirationSeconds },
      {},
      { authorityDays },
    );
    await pass();
    const { notBefore, notAfter } = parseCertificate(atob(list()[0]?.status?.certificate ?? ""));
    const second = (ms: number) => Math.floor(ms / 1000);
    assert.equal(second(notBefore), second(now - 300_000));
    assert.equal(second(notAfter), second(now + seconds * 1000));
  });

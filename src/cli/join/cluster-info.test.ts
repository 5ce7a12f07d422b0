import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";
import type { WallMs } from "../../kit/clock.ts";
import { generateKeyPair, signCertificate } from "../../outside/x509/x509.ts";
import { connectionObstacle, judgeClusterInfo } from "./cluster-info.ts";

const TOKEN = "abcdef.0123456789abcdef";
const NOW = Date.parse("2026-11-29T12:00:00Z");

const { privateKeyPem, publicKey } = await generateKeyPair();
const AUTHORITY = signCertificate(
  {
    subject: { commonName: "kubernetes", organizations: [] },
    publicKey,
    notBefore: (NOW - 3_600_000) as WallMs,
    notAfter: (NOW + 3_600_000) as WallMs,
    use: "authority",
  },
  { privateKeyPem },
);
const HASH = `sha256:${createHash("sha256").update(publicKey).digest("hex")}`;
const OTHER = `sha256:${"0".repeat(64)}`;
const KUBECONFIG = `apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority-data: ${Buffer.from(AUTHORITY).toString("base64")}
    server: https://10.0.0.1:6443
  name: ""
`;

/** As the controller bootstrapsigner signs it. */
function signed(content: string, secret = "0123456789abcdef") {
  const header = Buffer.from('{"alg":"HS256","kid":"abcdef"}').toString("base64url");
  const payload = Buffer.from(content).toString("base64url");
  const mac = createHmac("sha256", secret).update(`${header}.${payload}`).digest("base64url");
  return { kubeconfig: content, "jws-kubeconfig-abcdef": `${header}..${mac}` };
}

const LINE = { endpoint: "10.0.0.1:6443", token: TOKEN, caCertHashes: [HASH] };
const INFO = { data: signed(KUBECONFIG), serverTimeMs: NOW, nowMs: NOW };
const NEW_LINE = "kubeadm token create --print-join-command on a control plane prints a new line";

test("judgeClusterInfo: the authorities of a cluster that the line was made for", () => {
  assert.deepEqual(judgeClusterInfo(LINE, INFO), { authoritiesPem: AUTHORITY });
  assert.deepEqual(judgeClusterInfo({ ...LINE, caCertHashes: [OTHER, HASH] }, INFO), {
    authoritiesPem: AUTHORITY,
  });
  assert.deepEqual(judgeClusterInfo({ ...LINE, caCertHashes: [] }, INFO), {
    authoritiesPem: AUTHORITY,
  });
});

const REFUSED: readonly (readonly [
  name: string,
  line: Partial<typeof LINE>,
  info: Partial<Parameters<typeof judgeClusterInfo>[1]>,
  expected: { problem: string; fix: string },
])[] = [
  [
    "a token that is unknown or expired, which are one to the cluster",
    { token: "fedcba.0123456789abcdef" },
    {},
    { problem: "the cluster does not know the token fedcba.…, or it has expired", fix: NEW_LINE },
  ],
  [
    "the right first part with a wrong second one",
    { token: "abcdef.0123456789abcdee" },
    {},
    {
      problem: "the part of the token abcdef.… behind the dot is not the one that the cluster has",
      fix: "copy the whole line that kubeadm token create --print-join-command has printed",
    },
  ],
  [
    "an answer that was changed on its way",
    {},
    { data: { ...signed(KUBECONFIG), kubeconfig: `${KUBECONFIG}# changed\n` } },
    {
      problem: "the part of the token abcdef.… behind the dot is not the one that the cluster has",
      fix: "copy the whole line that kubeadm token create --print-join-command has printed",
    },
  ],
  [
    "another authority",
    { caCertHashes: [OTHER] },
    {},
    {
      problem: `the certificate authority of the cluster is ${HASH}, not ${OTHER}`,
      fix: `${NEW_LINE}; if that has the same value as before, something else answers at this address`,
    },
  ],
  [
    "a cluster without an authority",
    {},
    { data: signed("clusters: []\n") },
    {
      problem: "the cluster names no certificate authority",
      fix: "the ConfigMap cluster-info in kube-public has to have one: kubeadm init phase bootstrap-token",
    },
  ],
  [
    "a cluster without tokens",
    {},
    { data: {} },
    { problem: "the cluster does not accept machines that join with a token", fix: NEW_LINE },
  ],
  [
    "a clock that is behind",
    {},
    { nowMs: NOW - 3_600_000 },
    {
      problem: "the clock of this machine is 60 min behind that of the API server",
      fix: "set it, for example with: timedatectl set-ntp true",
    },
  ],
  [
    "a clock that is ahead",
    {},
    { nowMs: NOW + 301_000 },
    {
      problem: "the clock of this machine is 5 min 1 s ahead of that of the API server",
      fix: "set it, for example with: timedatectl set-ntp true",
    },
  ],
];

for (const [name, line, info, expected] of REFUSED)
  test(`judgeClusterInfo: ${name}`, () =>
    assert.deepEqual(judgeClusterInfo({ ...LINE, ...line }, { ...INFO, ...info }), expected));

test("connectionObstacle: why nobody answers, and what to try", () => {
  const of = (code: string) =>
    connectionObstacle("10.0.0.1:6443", Object.assign(new Error("raw"), { code }));
  assert.deepEqual(of("ECONNREFUSED"), {
    problem: "the API server at 10.0.0.1:6443 cannot be reached: nothing listens there",
    fix: "it has to answer from this machine: curl -k https://10.0.0.1:6443/livez",
  });
  assert.match(of("ETIMEDOUT").problem, /: no answer$/);
  assert.match(of("ESOMETHING").problem, /: raw$/);
});

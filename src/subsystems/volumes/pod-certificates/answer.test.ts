import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Condition, PodCertificateRequest } from "../../../api/generated/types.ts";
import type { WallMs } from "../../../kit/clock.ts";
import {
  answerOf,
  certificatesOf,
  freshness,
  OVERDUE_MS,
  refusalEvent,
  refusalText,
} from "./answer.ts";

const pem = (body: string, label = "CERTIFICATE") =>
  `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
const ISSUED = {
  certificateChain: pem("AAAA"),
  beginRefreshAt: "2026-01-01T12:00:00Z",
  notAfter: "2026-01-02T00:00:00Z",
};
const says = (type: string, reason = "R", message = "M"): Condition => ({
  type,
  reason,
  message,
  status: "True",
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
const request = (status: PodCertificateRequest["status"]): PodCertificateRequest => ({
  spec: {
    signerName: "a.test/b",
    podName: "p",
    podUID: "u",
    nodeName: "n",
    nodeUID: "nu",
    serviceAccountName: "s",
    serviceAccountUID: "su",
    stubPKCS10Request: "",
  },
  ...(status ? { status } : {}),
});
const UNUSABLE = {
  kind: "failed",
  reason: "UnusableCertificate",
  message: "the request was issued without certificateChain, beginRefreshAt or notAfter",
};

for (const [what, status, expected] of [
  ["no status", undefined, { kind: "none" }],
  ["a condition of another type", { conditions: [says("Seen")] }, { kind: "none" }],
  ["denied", { conditions: [says("Denied")] }, { kind: "denied", reason: "R", message: "M" }],
  ["failed", { conditions: [says("Failed")] }, { kind: "failed", reason: "R", message: "M" }],
  ["a chain without the condition", ISSUED, { kind: "none" }],
  [
    "issued",
    { ...ISSUED, conditions: [says("Seen"), says("Issued")] },
    {
      kind: "issued",
      chainPem: pem("AAAA"),
      beginRefreshAt: Date.UTC(2026, 0, 1, 12),
      notAfter: Date.UTC(2026, 0, 2),
    },
  ],
  ["issued without anything", { conditions: [says("Issued")] }, UNUSABLE],
  ["no PEM", { ...ISSUED, certificateChain: "x", conditions: [says("Issued")] }, UNUSABLE],
] as const)
  test(`answerOf: ${what}`, () => assert.deepEqual(answerOf(request(status)), expected));

for (const [what, given, expected] of [
  ["what is clean stays", pem("AAAA") + pem("BBBB"), pem("AAAA") + pem("BBBB")],
  [
    "texts between blocks go",
    `x\n${pem("AAAA")}leaf: y\n${pem("BBBB")}z`,
    pem("AAAA") + pem("BBBB"),
  ],
  ["headers go", pem("Proc-Type: 4\nX: a b\n\nAAAA\nBBBB"), pem("AAAABBBB")],
  ["other blocks count as certificates", pem("AAAA", "X509 CERTIFICATE"), pem("AAAA")],
  ["lines of Windows", pem("AAAA\r\nBBBB").replaceAll("\n", "\r\n"), pem("AAAABBBB")],
  ["long lines are broken", pem("A".repeat(70)), pem(`${"A".repeat(64)}\n${"A".repeat(6)}`)],
  ["an end that is missing", "-----BEGIN CERTIFICATE-----\nAAAA\n", ""],
  ["nothing", "", ""],
] as const)
  test(`certificatesOf: ${what}`, () => assert.equal(certificatesOf(given), expected));

test("refusals in the words of the Go kubelet", () => {
  const denied = { kind: "denied", reason: "UnsupportedKeyType", message: 'try "RSA"' } as const;
  assert.equal(
    refusalText(denied),
    'PodCertificateRequest was permanently denied: reason="UnsupportedKeyType" message="try \\"RSA\\""',
  );
  assert.deepEqual(refusalEvent("ns/req-1", denied), {
    reason: "Denied",
    message:
      'PodCertificateRequest ns/req-1 was denied, reason="UnsupportedKeyType", message="try \\"RSA\\""',
  });
  assert.deepEqual(refusalEvent("ns/req-1", { kind: "failed", reason: "R", message: "" }), {
    reason: "Failed",
    message: 'PodCertificateRequest ns/req-1 failed, reason="R", message=""',
  });
});

test("freshness: what has ended is expired, whatever else it is", () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer(), fc.integer(), (refresh, after, at) => {
      const times = { refreshAt: refresh as WallMs, notAfter: after as WallMs };
      const late = at > refresh + OVERDUE_MS ? "overdue_for_refresh" : "fresh";
      assert.equal(freshness(times, at as WallMs), at > after ? "expired" : late);
    }),
  );
});

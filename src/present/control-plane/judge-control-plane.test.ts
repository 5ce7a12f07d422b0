import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "../../api/generated/types.ts";
import {
  controlPlaneVerdicts,
  judgeCertificates,
  judgeEtcd,
  verdictsOf,
} from "./judge-control-plane.ts";

const GIB = 1024 ** 3;
for (const [bytes, alarms, level] of [
  [GIB, [], "ok"],
  [1.7 * GIB, [], "warn"],
  [GIB, ["NOSPACE"], "fail"],
] as const)
  test(`judgeEtcd: ${bytes} bytes of 2 GiB with alarms ${alarms.join()} is ${level}`, () =>
    assert.equal(judgeEtcd({ bytes, quotaBytes: 2 * GIB, alarms }).level, level));

const NOW = Date.parse("2026-11-29T12:00:00Z");
const LATER = { name: "ca", expirationDate: "2036-11-29T12:00:00Z" };

for (const [certificates, level, found] of [
  [
    [LATER, { name: "apiserver", expirationDate: "2027-11-29T12:00:00Z" }],
    "ok",
    "the first ends on 2027-11-29 (apiserver)",
  ],
  [
    [LATER, { name: "apiserver", expirationDate: "2026-12-20T12:00:00Z" }],
    "warn",
    "end within 30 days, the first on 2026-12-20: apiserver",
  ],
  [
    [
      LATER,
      { name: "apiserver", expirationDate: "2026-12-20T12:00:00Z" },
      { name: "admin.conf", expirationDate: "2026-11-28T12:00:00Z" },
    ],
    "fail",
    "ended: admin.conf",
  ],
  [[{ ...LATER, expirationDate: "0001-01-01T00:00:00Z", missing: true }], "warn", "none found"],
] as const)
  test(`judgeCertificates: ${found}`, () => {
    const check = judgeCertificates(certificates, NOW);
    assert.deepEqual([check.level, check.found], [level, found]);
  });

function pod(name: string, ready: boolean): Pod {
  const condition = { type: "Ready", status: ready ? "True" : "False" };
  return {
    metadata: { name, namespace: "kube-system" },
    spec: { containers: [{ name: "c" }] },
    status: { phase: "Running", conditions: [condition] },
  };
}

const REPORT = {
  atMs: NOW,
  components: [
    { component: "kube-apiserver", pod: "kube-system/kube-apiserver-one" },
    { component: "etcd", pod: "kube-system/etcd-one" },
  ],
  etcd: { bytes: 24 * 1024 ** 2, quotaBytes: undefined, alarms: [] },
  certificates: [{ path: "/pki/apiserver.crt", endsAtMs: NOW + 400 * 24 * 3_600_000 }],
};

test("controlPlaneVerdicts: a component is what its pod is; then the data of etcd and the certificates", () => {
  const verdicts = controlPlaneVerdicts(REPORT, [
    pod("etcd-one", true),
    pod("kube-apiserver-one", false),
  ]);
  assert.deepEqual(
    verdicts.map(({ name, level }) => `${name} ${level}`),
    ["etcd ok", "kube-apiserver fail", "etcd's data ok", "certificates ok"],
  );
  assert.equal(verdicts[1]?.fix, "nodelet why kube-system/kube-apiserver");
  assert.deepEqual(
    verdictsOf("etcd", verdicts).map(({ name, found }) => `${name}: ${found}`),
    ["etcd: healthy", "etcd's data: 24 MiB of 2 GiB"],
  );
});

test("controlPlaneVerdicts: a node without components has none; what cannot be read is said", () => {
  assert.deepEqual(controlPlaneVerdicts({ ...REPORT, components: [] }, []), []);
  const verdicts = controlPlaneVerdicts({ ...REPORT, etcd: { problem: "refused" } }, []);
  assert.equal(verdicts.find(({ name }) => name === "etcd's data")?.found, "unknown: refused");
  assert.equal(verdicts[0]?.level, "fail");
});

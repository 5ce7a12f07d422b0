import assert from "node:assert/strict";
import { test } from "node:test";
import { healthAddress, judgeCertificates, judgeComponent, judgeEtcd } from "./judge-cluster.ts";

const manifest = (probe: string, ports = "") => `apiVersion: v1
kind: Pod
metadata: {name: kube-apiserver, namespace: kube-system}
spec:
  containers:
  - name: kube-apiserver
${ports}    livenessProbe:
      httpGet: ${probe}
`;

for (const [name, probe, ports, url] of [
  [
    "a port by its number",
    "{host: 10.0.0.1, path: /livez, port: 6443, scheme: HTTPS}",
    "",
    "https://10.0.0.1:6443/livez",
  ],
  [
    "a port by its name",
    "{host: 10.0.0.1, path: /livez, port: probe-port, scheme: HTTPS}",
    "    ports:\n    - {containerPort: 6443, name: probe-port}\n",
    "https://10.0.0.1:6443/livez",
  ],
  ["what is left out", "{port: 2381}", "", "http://127.0.0.1:2381/"],
  ["an address of IPv6", "{host: '::1', path: /x, port: 1}", "", "http://[::1]:1/x"],
] as const)
  test(`healthAddress: ${name}`, () =>
    assert.deepEqual(healthAddress(manifest(probe, ports)), { component: "kube-apiserver", url }));

test("healthAddress: none for a pod without such a probe", () => {
  assert.equal(healthAddress("kind: Pod\nmetadata: {name: x}\n"), undefined);
  assert.equal(healthAddress(manifest("{port: nobody}")), undefined);
});

test("judgeComponent: its last words stand beside where to read more", () => {
  assert.equal(
    judgeComponent({ component: "etcd", problem: undefined, wroteLast: undefined }).level,
    "ok",
  );
  assert.deepEqual(
    judgeComponent({ component: "etcd", problem: "HTTP 503 of x", wroteLast: "no leader" }),
    {
      name: "etcd",
      level: "fail",
      found: "HTTP 503 of x",
      fix: "it wrote last: no leader; nodelet why kube-system/etcd",
    },
  );
});

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

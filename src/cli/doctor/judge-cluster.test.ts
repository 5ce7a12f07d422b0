import assert from "node:assert/strict";
import { test } from "node:test";
import { healthAddress, judgeComponent, judgeManifest } from "./judge-cluster.ts";

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

test("judgeManifest: what cannot be read is named with the command that writes it again", () => {
  const folder = "/etc/kubernetes/manifests";
  assert.equal(judgeManifest(`${folder}/etcd.yaml`, manifest("{port: 1}")), undefined);
  const broken = "kind: Pod\nmetadata: {name: [\n";
  assert.equal(healthAddress(broken), undefined);
  const apiServer = judgeManifest(`${folder}/kube-apiserver.yaml`, broken);
  assert.equal(apiServer?.level, "fail");
  assert.match(apiServer?.found ?? "", /^its manifest cannot be read: line \d+, column \d+: /);
  assert.match(apiServer?.fix ?? "", /kubeadm init phase control-plane apiserver$/);
  assert.match(judgeManifest(`${folder}/etcd.yaml`, broken)?.fix ?? "", /phase etcd local$/);
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

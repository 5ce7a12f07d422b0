import assert from "node:assert/strict";
import { test } from "node:test";
import { parseYaml } from "../../api/text/yaml.ts";
import { yamlAt } from "../control-plane/kubeadm-config.ts";
import { etcdctlWords, etcdFacts, memberCount, restorePod } from "./etcd-manifest.ts";

/** As kubeadm 1.37 writes it, shortened. */
const MANIFEST = `apiVersion: v1
kind: Pod
metadata:
  name: etcd
  namespace: kube-system
spec:
  containers:
  - command:
    - etcd
    - --advertise-client-urls=https://10.0.0.1:2379
    - --cert-file=/etc/kubernetes/pki/etcd/server.crt
    - --data-dir=/var/lib/etcd
    - --initial-advertise-peer-urls=https://10.0.0.1:2380
    - --initial-cluster=one=https://10.0.0.1:2380
    - --name=one
    - --peer-trusted-ca-file=/etc/kubernetes/pki/etcd/ca.crt
    - --trusted-ca-file=/etc/kubernetes/pki/etcd/ca.crt
    image: registry.k8s.io/etcd:3.7.3-0
    name: etcd
  hostNetwork: true
`;
const FACTS = {
  image: "registry.k8s.io/etcd:3.7.3-0",
  name: "one",
  peerUrl: "https://10.0.0.1:2380",
  dataDir: "/var/lib/etcd",
  authority: "/etc/kubernetes/pki/etcd/ca.crt",
};

test("etcdFacts: nothing of a damaged manifest", () =>
  assert.equal(etcdFacts("kind: Pod\nmetadata: {name: [\n"), undefined));

test("etcdFacts: what kubeadm's manifest says, and nothing for another one", () => {
  assert.deepEqual(etcdFacts(MANIFEST), FACTS);
  assert.equal(etcdFacts(MANIFEST.replace("--name=one", "--other")), undefined);
  assert.equal(etcdFacts("kind: Pod\n"), undefined);
});

test("etcdctlWords: the credentials that kubeadm has made for probes", () =>
  assert.deepEqual(etcdctlWords(FACTS), [
    "etcdctl",
    "--endpoints=https://127.0.0.1:2379",
    "--cacert=/etc/kubernetes/pki/etcd/ca.crt",
    "--cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt",
    "--key=/etc/kubernetes/pki/etcd/healthcheck-client.key",
  ]));

test("restorePod: a member alone in its cluster, with data beside the present one", () => {
  const [document] = parseYaml(restorePod(FACTS, "restore-1"));
  assert.equal(yamlAt(document?.value, ["metadata", "name"]), "restore-1");
  assert.equal(yamlAt(document?.value, ["spec", "restartPolicy"]), "Never");
  const containers = yamlAt(document?.value, ["spec", "containers"]);
  const [container] = Array.isArray(containers) ? containers : [];
  assert.equal(yamlAt(container, ["image"]), FACTS.image);
  assert.deepEqual(yamlAt(container, ["command"]), [
    "etcdutl",
    "snapshot",
    "restore",
    "/var/lib/etcd/nodelet-restore/snapshot.db",
    "--data-dir=/var/lib/etcd/nodelet-restore/data",
    "--name=one",
    "--initial-cluster=one=https://10.0.0.1:2380",
    "--initial-advertise-peer-urls=https://10.0.0.1:2380",
    "--bump-revision=1000000000",
    "--mark-compacted",
  ]);
});

test("memberCount: those of etcdctl's list", () => {
  assert.equal(memberCount('{"header":{},"members":[{"ID":1},{"ID":2}]}'), 2);
  assert.equal(memberCount("{}"), 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { withTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { OpenLedger } from "../up/ledger.ts";
import { DEFAULT_PLACES, upPaths } from "../up/paths.ts";
import { installedPaths } from "./installed-paths.ts";
import { clusterPaths, kubeletArguments, nodeNameIn } from "./places.ts";

const ALWAYS = [
  "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
  "--kubeconfig=/etc/kubernetes/kubelet.conf",
];

for (const [what, text, words] of [
  ["no file", "", []],
  [
    "kubeadm's own",
    'KUBELET_KUBEADM_ARGS="--node-ip=192.0.2.1 --pod-infra-container-image=registry.k8s.io/pause:3.10"\n',
    ["--node-ip=192.0.2.1", "--pod-infra-container-image=registry.k8s.io/pause:3.10"],
  ],
  ["an empty value", 'KUBELET_KUBEADM_ARGS=""\n', []],
  ["other variables", "A=--b\nKUBELET_KUBEADM_ARGS=--c\n", ["--c"]],
] as const)
  test(`kubeletArguments: ${what}`, () =>
    assert.deepEqual(kubeletArguments(text), [...ALWAYS, ...words]));

test("clusterPaths: the agent has kubeadm's folder, all else stays where it was", () => {
  const paths = upPaths(DEFAULT_PLACES);
  const { agentRoot, config, containerd, ...others } = clusterPaths(paths);
  assert.deepEqual([agentRoot, config], ["/var/lib/kubelet", "/var/lib/kubelet/config.yaml"]);
  assert.equal(containerd.socket, paths.containerd.socket);
  assert.notEqual(containerd.cniConfigs, paths.containerd.cniConfigs);
  assert.equal(others.ledger, paths.ledger);
  assert.equal(others.agentSocket, paths.agentSocket);
});

test("installedPaths: those of a cluster from the moment on that one is begun", () =>
  withTemporaryFolder((folder) => {
    const paths = upPaths({ ...DEFAULT_PLACES, stateDir: folder });
    assert.deepEqual(installedPaths(paths), {
      paths,
      isCluster: false,
      startWords: "up",
      podRoutes: false,
    });
    const ledger = new OpenLedger(paths.ledger);
    const cluster = { kubeadm: "/usr/bin/kubeadm", criSocket: "/run/c.sock" };
    ledger.change(() => ({ cluster }));
    const startWords = "up --control-plane";
    const installed = { paths: clusterPaths(paths), isCluster: true, startWords, podRoutes: false };
    assert.deepEqual(installedPaths(paths), installed);
    // Only the network of our own containerd has routes of ours, and not against the user's will.
    ledger.change(() => ({ runtime: { kind: "own", socket: "/run/c.sock" } }));
    assert.deepEqual(installedPaths(paths), { ...installed, podRoutes: true });
    ledger.change(() => ({ cluster: { ...cluster, podRoutes: false } }));
    assert.deepEqual(installedPaths(paths), installed);
    ledger.change(() => ({ cluster: { ...cluster, networkPlugin: true } }));
    assert.deepEqual(installedPaths(paths), installed);
    ledger.change(() => ({ cluster, runtime: { kind: "found", socket: "/run/c.sock" } }));
    assert.deepEqual(installedPaths(paths), installed);
    ledger.change(() => ({ cluster: { ...cluster, joined: true } }));
    assert.deepEqual(installedPaths(paths), { ...installed, startWords: "join" });
  }));

test("nodeNameIn: what kubeadm has the node called, else the host's name", () => {
  assert.equal(
    nodeNameIn('KUBELET_KUBEADM_ARGS="--hostname-override=two --node-ip=x"\n', "H"),
    "two",
  );
  assert.equal(nodeNameIn('KUBELET_KUBEADM_ARGS=""\n', "Host"), "host");
});

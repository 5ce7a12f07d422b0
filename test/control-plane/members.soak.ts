// A second control plane joins the first, an interrupted join is done again, and leaving takes its etcd out of the others.
import assert from "node:assert/strict";
import { test } from "node:test";
import { joinWire } from "../../tools/conformance/lab/wire.ts";
import { type ClusterMachine, clusterMachine, controlPlaneObstacle } from "./machine.ts";

const skip = controlPlaneObstacle();
const ENDPOINT = "198.51.100.10:6443";

/** Names of etcd's members, as the machine's own etcd knows them. */
async function members(machine: ClusterMachine): Promise<readonly string[]> {
  const folder = "/etc/kubernetes/pki/etcd";
  const certificates = [
    `--cacert=${folder}/ca.crt`,
    `--cert=${folder}/healthcheck-client.crt`,
    `--key=${folder}/healthcheck-client.key`,
  ];
  const text = await machine.kubectl(
    ...["exec", "-nkube-system", "etcd-one", "--", "etcdctl", ...certificates],
    ...["member", "list", "-w", "json"],
  );
  const list = JSON.parse(text) as { readonly members: readonly { readonly name: string }[] };
  return list.members.map(({ name }) => name).toSorted();
}

test("a second control plane joins and leaves; the first goes on", { skip }, async (t) => {
  await using one = await clusterMachine({ hostname: "one" });
  await using two = await clusterMachine({ hostname: "two", address: "198.51.100.11" });
  await joinWire([one.node.box, two.node.box]);
  const before = await two.node.picture();
  const up = await one.up(`--control-plane-endpoint=${ENDPOINT}`);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  const words = await one.joinWords();
  const key = await one.certificateKey();

  const wrong = await two.join(...words, "--control-plane", `--certificate-key=${"0".repeat(64)}`);
  assert.equal(wrong.code, 1, wrong.stdout);
  assert.match(wrong.stderr, /upload-certs --upload-certs on a control plane prints a new/);
  assert.deepEqual(await two.node.changesSince(before), []);

  const interrupted = two.startJoin(...words);
  await interrupted.reported(/kubelet-start: Starting the kubelet/);
  await interrupted.process.kill("SIGKILL");

  const began = performance.now();
  const joined = await two.join(...words, "--control-plane", `--certificate-key=${key}`);
  assert.equal(joined.code, 0, joined.stdout + joined.stderr);
  assert.match(joined.stderr, /an earlier run was interrupted: removing what it left/);
  t.diagnostic(`joined after ${((performance.now() - began) / 1000).toFixed(0)} s`);
  assert.deepEqual(await members(one), ["one", "two"]);
  const nodes = ["get", "nodes", "-lnode-role.kubernetes.io/control-plane", "-oname"];
  assert.equal((await two.kubectl(...nodes)).trim(), "node/one\nnode/two");

  // A member that is gone without a word would leave the other one without a majority.
  const down = await two.nodelet(["down"]);
  assert.equal(down.code, 0, down.stdout + down.stderr);
  assert.deepEqual(await members(one), ["one"]);
  assert.deepEqual(await two.node.changesSince(before), []);
  // kubeadm refuses a node's name while the cluster takes the node for Ready.
  await one.kubectl("wait", "node/two", "--for=condition=Ready=Unknown", "--timeout=90s");
  const again = await two.join(...words, "--control-plane", `--certificate-key=${key}`);
  assert.equal(again.code, 0, again.stdout + again.stderr);

  const left = await two.nodelet(["leave", "--yes"]);
  assert.equal(left.code, 0, left.stdout + left.stderr);
  assert.deepEqual(await members(one), ["one"]);
  assert.equal((await one.kubectl(...nodes)).trim(), "node/one");
  assert.deepEqual(await two.node.changesSince(before), []);
  const alone = await one.nodelet(["leave", "--yes"]);
  assert.equal(alone.code, 1);
  assert.match(alone.stderr, /only control plane of its cluster\n.*nodelet down/);
});

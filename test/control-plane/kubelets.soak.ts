// A cluster with both kubelets: the Go kubelet joins by the real `kubeadm join`, ours by `nodelet join`. One machine dies, one leaves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Node } from "../../src/api/generated/types.ts";
import { joinWire } from "../../tools/conformance/lab/wire.ts";
import { goMachine, type NodePlace } from "./go-machine.ts";
import { LATEST } from "./images.ts";
import { type ClusterMachine, clusterMachine, controlPlaneObstacle } from "./machine.ts";
import { answered, serveOnEachNode, startClient, webPods } from "./web.ts";

const skip = controlPlaneObstacle();
const MOVED_MS = 180_000;

async function nodesOf(machine: ClusterMachine): Promise<readonly Node[]> {
  const text = await machine.kubectl("get", "nodes", "-ojson");
  return (JSON.parse(text) as { readonly items: readonly Node[] }).items;
}

function placeOf({ metadata, spec, status }: Node): NodePlace {
  const internal = status?.addresses?.find(({ type }) => type === "InternalIP");
  return {
    name: metadata?.name ?? "",
    address: internal?.address ?? "",
    podCidr: spec?.podCIDR ?? "",
  };
}

/** Resolves when three pods of the Deployment are ready, all on these nodes. */
async function servedBy(machine: ClusterMachine, nodes: readonly string[]): Promise<void> {
  const deadline = performance.now() + MOVED_MS;
  for (;;) {
    const pods = await webPods(machine);
    const isSo =
      pods.length === 3 && pods.every(({ node, ready }) => ready && nodes.includes(node));
    if (isSo) return;
    if (performance.now() > deadline) {
      const events = await machine.kubectl("get", "events", "-A", "--field-selector=type=Warning");
      throw new Error(`${JSON.stringify(pods)}\n${events}`);
    }
    await sleep(1_000);
  }
}

test("a Go kubelet joins beside ours; its machine dies, the other one leaves", {
  skip,
}, async (t) => {
  await using one = await clusterMachine({ hostname: "one" });
  await using two = await clusterMachine({ hostname: "two", address: "198.51.100.11" });
  await using three = await goMachine({ hostname: "three", address: "198.51.100.12" });
  await joinWire([one.node.box, two.node.box, three.box]);
  const up = await one.up();
  assert.equal(up.code, 0, up.stdout + up.stderr);
  const before = await two.node.picture();
  const began = performance.now();
  const seconds = () => ((performance.now() - began) / 1000).toFixed(0);
  const joined = await two.join(...(await one.joinWords()));
  assert.equal(joined.code, 0, joined.stdout + joined.stderr);
  t.diagnostic(`nodelet has joined after ${seconds()} s`);
  await three.join(await one.joinWords());
  // kubeadm ends when the kubelet has its certificate, which is before it has made its Node.
  for (const what of ["create", "jsonpath={.spec.podCIDR}"])
    await one.kubectl("wait", `--for=${what}`, "node/three", "--timeout=60s");
  const nodes = await nodesOf(one);
  await three.connectPods(nodes.map(placeOf));
  await one.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=180s");
  t.diagnostic(`the Go kubelet has joined after ${seconds()} s`);
  const versions = new Map(
    nodes.map(({ metadata, status }) => [metadata?.name, status?.nodeInfo?.kubeletVersion ?? ""]),
  );
  assert.equal(versions.get("three"), LATEST);
  for (const name of ["one", "two"]) assert.match(versions.get(name) ?? "", /\+nodelet/);

  await serveOnEachNode(one, 3);
  const clients = ["one", "two", "three"];
  for (const node of clients) await startClient(one, `client-${node}`, node);
  await servedBy(one, clients);
  const pods = await webPods(one);
  assert.deepEqual(pods.map(({ node }) => node).toSorted(), clients.toSorted());
  for (const node of clients) {
    await answered(one, `client-${node}`);
    for (const { address } of pods) await answered(one, `client-${node}`, `${address}:80`);
  }
  t.diagnostic(`Service and pods across nodes in all directions after ${seconds()} s`);

  const died = performance.now();
  await three.box.dispose();
  await servedBy(one, ["one", "two"]);
  t.diagnostic(
    `pods moved ${((performance.now() - died) / 1000).toFixed(0)} s after a machine died`,
  );
  for (const node of ["one", "two"])
    for (let asked = 0; asked < 5; asked += 1) await answered(one, `client-${node}`);

  await one.kubectl("delete", "pod", "client-two", "--now");
  const left = await two.nodelet(["leave", "--yes"]);
  assert.equal(left.code, 0, left.stdout + left.stderr);
  await servedBy(one, ["one"]);
  await answered(one, "client-one");
  assert.deepEqual(await two.node.changesSince(before), []);
  const names = (await nodesOf(one)).map(({ metadata }) => metadata?.name);
  assert.deepEqual(names.toSorted(), ["one", "three"]);
});

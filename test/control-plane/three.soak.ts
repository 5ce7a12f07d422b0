// A cluster with three control planes, of which the first dies: the other two go on, and all pods are served.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { joinWire } from "../../tools/conformance/lab/wire.ts";
import { type ClusterMachine, clusterMachine, controlPlaneObstacle } from "./machine.ts";
import { longestSilence } from "./silence.ts";
import { answered, serveOnEachNode, startClient, webPods } from "./web.ts";

const skip = controlPlaneObstacle();
/** An address that one machine has at a time, as a load balancer would have it. */
const SHARED = "198.51.100.9";
const WRITES_MS = 60_000;

function takeAddress({ node }: ClusterMachine): Promise<string> {
  return node.box.run(["ip", "address", "add", `${SHARED}/32`, "dev", "eth0"]);
}

test("one of three control planes dies: the API stays", { skip }, async (t) => {
  await using two = await clusterMachine({ hostname: "two", address: "198.51.100.11" });
  await using one = await clusterMachine({ hostname: "one" });
  await using three = await clusterMachine({ hostname: "three", address: "198.51.100.12" });
  // The wire is the first one's, which stays.
  await joinWire([two, one, three].map(({ node }) => node.box));
  await takeAddress(one);
  const up = await one.up(`--control-plane-endpoint=${SHARED}:6443`);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  const words = await one.joinWords();
  const key = await one.certificateKey();
  for (const machine of [two, three]) {
    const joined = await machine.join(...words, "--control-plane", `--certificate-key=${key}`);
    assert.equal(joined.code, 0, joined.stdout + joined.stderr);
  }
  await two.kubectl("taint", "node", "two", "three", "node-role.kubernetes.io/control-plane-");
  // Both of its pods are on the first machine, where they would stay for five minutes.
  await two.kubectl("rollout", "restart", "deployment/coredns", "-nkube-system");
  await two.kubectl("rollout", "status", "deployment/coredns", "-nkube-system", "--timeout=240s");
  await serveOnEachNode(two, 3);
  await startClient(two, "client", "three");
  await two.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=240s");
  await answered(two, "client");
  const pods = await two.kubectl("get", "pods", "-nkube-system", "-lcomponent=etcd", "-oname");
  assert.equal(pods.trim().split("\n").length, 3);

  const done = new AbortController();
  const others = [two, three].map((machine) => {
    const server = `--server=https://${machine.node.box.nodeAddress}:6443`;
    return { machine, server, silence: longestSilence(machine, done.signal, server) };
  });
  await sleep(3_000);
  const died = performance.now();
  await one.node.box.dispose();
  await takeAddress(two);
  for (const { machine, server } of others) {
    const deadline = performance.now() + WRITES_MS;
    const name = `after-${machine.node.box.nodeAddress.replaceAll(".", "-")}`;
    while (performance.now() < deadline) {
      const made = await machine.kubectl("create", "configmap", name, server).catch(() => "");
      if (made !== "") break;
    }
    await machine.kubectl("get", "configmap", name, server);
  }
  t.diagnostic(`written to both after ${((performance.now() - died) / 1000).toFixed(0)} s`);
  await two.kubectl("wait", "node/one", "--for=condition=Ready=Unknown", "--timeout=180s");
  // Also by the address of all.
  for (const machine of [two, three]) await machine.kubectl("get", "nodes");
  done.abort();
  const longest = await Promise.all(others.map(({ silence }) => silence));
  t.diagnostic(`without an answer for at most ${longest.map((s) => s.toFixed(0)).join(" and ")} s`);
  for (const seconds of longest) assert.ok(seconds < 30, `${seconds} s`);
  while (!(await webPods(two)).every(({ node, ready }) => ready && node !== "one"))
    await sleep(1_000);
  t.diagnostic(`all pods on the others ${((performance.now() - died) / 1000).toFixed(0)} s after`);
  await answered(two, "client");
});

// `nodelet up --control-plane` with the real kubeadm and control plane: a cluster on a bare machine, and the machine as before.
import assert from "node:assert/strict";
import { test } from "node:test";
import { leaveHybrid } from "../support/hybrid-cgroups.ts";
import { clusterMachine, controlPlaneObstacle } from "./machine.ts";
import { answered, serveWeb, startClient } from "./web.ts";

const skip = controlPlaneObstacle();

test("a Deployment behind a Service is reached by its DNS name; down takes all of it back", {
  skip,
}, async (t) => {
  await using machine = await clusterMachine();
  const { node } = machine;
  const before = await node.picture();
  const began = performance.now();
  const up = await machine.up();
  assert.equal(up.code, 0, up.stdout + up.stderr);
  t.diagnostic(`the cluster is ready after ${((performance.now() - began) / 1000).toFixed(0)} s`);
  assert.match(up.stderr, /^nodelet: addons: Applied essential addon: CoreDNS$/m);
  assert.match(up.stdout, /^The cluster is ready and keeps running in the background\.$/m);
  assert.doesNotMatch(up.stdout + up.stderr, /[a-z0-9]{6}\.[a-z0-9]{16}/, "no token is shown");

  await serveWeb(machine, 2);
  await startClient(machine, "client");
  await answered(machine, "client");
  t.diagnostic(`a Service answered after ${((performance.now() - began) / 1000).toFixed(0)} s`);

  const pods = ["pod", "-nkube-system", "-ltier=control-plane"];
  await machine.kubectl("wait", ...pods, "--for=condition=Ready", "--timeout=60s");
  const parts = await machine.nodelet(["get", "control-plane"]);
  for (const name of ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"])
    assert.match(parts.stdout, new RegExp(`^${name} +ok +healthy`, "m"));
  assert.match(parts.stdout, /^etcd's data +ok +[\d.]+ [KM]iB of 2 GiB/m);
  assert.match(parts.stdout, /^certificates +ok +the first ends on \d{4}-\d\d-\d\d \(\/etc\//m);
  const why = await machine.nodelet(["why", "kube-system/etcd"]);
  assert.match(why.stdout, /^ {2}Control plane: etcd's data: [\d.]+ [KM]iB of 2 GiB$/m);
  assert.match((await machine.nodelet(["get", "node"])).stdout, /^kube-scheduler +ok +healthy/m);

  const again = await machine.up();
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stderr, /the control plane is running already/);
  const plain = await machine.nodelet(["up"]);
  assert.equal(plain.code, 1);
  assert.match(
    plain.stderr,
    /this machine is the control plane of a cluster\n.*up --control-plane/,
  );

  const down = await machine.nodelet(["down"]);
  assert.equal(down.code, 0, down.stdout + down.stderr);
  assert.deepEqual(await node.changesSince(before), []);
});

test("what kubeadm refuses is said in a sentence with its fix, and the machine is as before", {
  skip,
}, async () => {
  await using machine = await clusterMachine();
  const { node } = machine;
  const server = node.box.spawn(["busybox", "nc", "-l", "-p", "10257"]);
  await node.box.run(["mkdir", "-p", "/var/lib/etcd/member"]);
  const before = await node.picture();
  const { code, stderr } = await machine.up();
  assert.equal(code, 1);
  assert.match(stderr, /^nodelet: Port 10257 is in use$/m);
  assert.match(stderr, /^ +stop what listens on port 10257: ss -ltnp 'sport = :10257'$/m);
  assert.match(stderr, /\/var\/lib\/etcd is not empty/);
  assert.deepEqual(await node.changesSince(before), []);
  await server.kill("SIGKILL");

  const version = await machine.up("--kubernetes-version=1.37");
  assert.equal(version.code, 2);
  assert.match(version.stderr, /--kubernetes-version: 1\.37 is no version\n.*v1\.37\.2/);
  const network = await machine.nodelet(["up", "--pod-cidr=10.1.0.0/16"]);
  assert.equal(network.code, 2);
  assert.match(network.stderr, /--pod-cidr has no effect without --control-plane/);
});

test("the OCI runtime that was chosen stays chosen when the node starts again", {
  skip,
}, async () => {
  await using machine = await clusterMachine();
  const { box } = machine.node;
  await leaveHybrid(box);
  const chosen = async (): Promise<string> => {
    const config = await box.run(["cat", "/var/lib/nodelet/containerd.toml"]);
    return /^default_runtime_name = "(.*)"$/m.exec(config)?.[1] ?? config;
  };
  const up = await machine.up("--oci-runtime=runc");
  assert.equal(up.code, 0, up.stdout + up.stderr);
  assert.doesNotMatch(up.stderr, /crun is not offered/, "it would be the default");
  assert.equal(await chosen(), "runc");
  for (const [option, expected] of [
    ["--timeout=5m", "runc"],
    ["--oci-runtime=crun", "crun"],
    ["--timeout=5m", "crun"],
  ] as const) {
    const stopped = await machine.nodelet(["stop"]);
    assert.equal(stopped.code, 0, stopped.stderr);
    const again = await machine.up(option);
    assert.equal(again.code, 0, again.stdout + again.stderr);
    assert.equal(await chosen(), expected);
  }
});

// The ways to run pods on one machine, measured: seconds from an empty machine, and memory at rest (docs/one-machine.md).
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WEB_IMAGE } from "./images.ts";
import { type ClusterMachine, clusterMachine, controlPlaneObstacle } from "./machine.ts";
import { answered, serveWeb, startClient } from "./web.ts";

const skip = controlPlaneObstacle();
const REST_MS = 30_000;
const POD = `apiVersion: v1
kind: Pod
metadata: {name: hello, namespace: default}
spec:
  containers:
  - {name: web, image: ${WEB_IMAGE}, command: [sleep, "100000"]}
`;

/** Memory of all processes but those of the test, in MiB by name: the part that each has alone, as the kernel counts it. */
async function memory(machine: ClusterMachine): Promise<ReadonlyMap<string, number>> {
  await sleep(REST_MS);
  const script = `for pid in $(ls /proc | grep '^[0-9]'); do
    [ -e /proc/$pid/smaps_rollup ] || continue
    pss=$(awk '/^Pss:/ { print $2 }' /proc/$pid/smaps_rollup 2>/dev/null)
    [ -n "$pss" ] && echo "$pss $(tr '\\0' ' ' </proc/$pid/cmdline)"
  done`;
  const text = await machine.node.box.run(["sh", "-c", script]);
  const byName = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, kib = "", command = ""] = /^(\d+) (.*)$/.exec(line) ?? [];
    const name = nameOf(command);
    if (name !== undefined) byName.set(name, (byName.get(name) ?? 0) + Number(kib) / 1024);
  }
  return byName;
}

const NAMES = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"];

function nameOf(command: string): string | undefined {
  if (/registry\.ts/.test(command)) return undefined;
  if (/up --supervise/.test(command)) return "nodelet's supervisor";
  if (/nodelet/.test(command) && !/containerd/.test(command)) return "nodelet's agent";
  if (/containerd-shim/.test(command)) return "containerd's shims";
  if (/containerd /.test(command)) return "containerd";
  if (/^\/?coredns/.test(command)) return "CoreDNS";
  if (/^etcd /.test(command)) return "etcd";
  return NAMES.find((name) => command.startsWith(name) || command.includes(`/${name}`));
}

function report(t: TestContext, way: string, byName: ReadonlyMap<string, number>): number {
  const sum = [...byName.values()].reduce((a, b) => a + b, 0);
  const parts = [...byName].map(([name, mib]) => `${name} ${mib.toFixed(0)}`);
  t.diagnostic(`${way}: ${sum.toFixed(0)} MiB: ${parts.toSorted().join(", ")}`);
  return sum;
}

test("manifests and the local API", { skip }, async (t) => {
  await using machine = await clusterMachine();
  await machine.node.box.run(["mkdir", "-p", "/etc/nodelet/manifests"]);
  machine.node.box.write("/etc/nodelet/manifests/hello.yaml", POD);
  const began = performance.now();
  const up = await machine.nodelet(["up", "--detach", "--until-ready"]);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  t.diagnostic(`a pod is ready after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  const sum = report(t, "manifests and local API", await memory(machine));
  assert.ok(sum < 300, `${sum} MiB`);
  await machine.nodelet(["down"]);
});

test("a control plane", { skip }, async (t) => {
  await using machine = await clusterMachine();
  const began = performance.now();
  const up = await machine.up();
  assert.equal(up.code, 0, up.stdout + up.stderr);
  const ready = performance.now() - began;
  await serveWeb(machine, 2);
  await startClient(machine, "client");
  await answered(machine, "client");
  const served = performance.now() - began;
  t.diagnostic(
    `ready after ${(ready / 1000).toFixed(0)} s, a Service by its name ${(served / 1000).toFixed(0)} s`,
  );
  const sum = report(t, "control plane", await memory(machine));
  assert.ok(sum < 1500, `${sum} MiB`);
  const disk = await machine.node.box.run(["du", "-sm", "/var/lib/nodelet", "/var/lib/etcd"]);
  t.diagnostic(`disk in MiB: ${disk.trim().replaceAll(/\s+/g, " ")}`);
});

// The life of a cluster on one machine: a snapshot of etcd and back to it, and another version, under pods that go on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EARLIER, LATEST } from "./images.ts";
import { clusterMachine, controlPlaneObstacle } from "./machine.ts";
import { longestSilence, restarts } from "./silence.ts";
import { answered, serveWeb, startClient } from "./web.ts";

const skip = controlPlaneObstacle();
const FILE = "/run/tmp/snapshot.db";

test("a snapshot is restored, and the control plane replaced, under pods that go on", {
  skip,
}, async (t) => {
  await using machine = await clusterMachine();
  const up = await machine.up(`--kubernetes-version=${EARLIER}`);
  assert.equal(up.code, 0, up.stdout + up.stderr);
  await serveWeb(machine, 3);
  await startClient(machine, "client");
  await answered(machine, "client");
  const before = await restarts(machine, "app=web");

  const saved = await machine.nodelet(["etcd", "snapshot", FILE]);
  assert.equal(saved.code, 0, saved.stderr);
  assert.match(saved.stdout, /snapshot\.db: \d+ keys at revision \d+, /);
  assert.equal((await machine.node.box.run(["stat", "-c%a", FILE])).trim(), "600");
  const twice = await machine.nodelet(["etcd", "snapshot", FILE]);
  assert.match(twice.stderr, /is there already/);
  await machine.node.box.run(["sh", "-c", "head -c 100000 /dev/zero >/run/tmp/broken.db"]);
  const broken = await machine.nodelet(["etcd", "restore", "/run/tmp/broken.db"]);
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /broken\.db cannot be restored: .*\n.*nothing was changed/);

  await machine.kubectl("create", "configmap", "later");
  const began = performance.now();
  const restored = await machine.nodelet(["etcd", "restore", FILE]);
  assert.equal(restored.code, 0, restored.stdout + restored.stderr);
  t.diagnostic(`restored after ${((performance.now() - began) / 1000).toFixed(0)} s`);
  await assert.rejects(machine.kubectl("get", "configmap", "later"), /NotFound/);
  await answered(machine, "client");
  assert.equal(await restarts(machine, "app=web"), before);

  const doctor = await machine.nodelet(["doctor"]);
  assert.equal(doctor.code, 0, doctor.stdout + doctor.stderr);
  for (const name of ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"])
    assert.match(doctor.stdout, new RegExp(`^ok +${name} +healthy$`, "m"));
  assert.match(doctor.stdout, /^ok +etcd's data +[\d.]+ [KM]iB of [\d.]+ GiB$/m);
  assert.match(doctor.stdout, /^ok +certificates +the first ends on \d{4}-\d\d-\d\d \(/m);

  const older = await machine.upgrade("--kubernetes-version=v1.36.3", "--yes");
  assert.match(older.stderr, /the cluster has v[\d.]+ already, and v1\.36\.3 is older/);
  const done = new AbortController();
  const silence = longestSilence(machine, done.signal);
  const upgraded = await machine.upgrade(`--kubernetes-version=${LATEST}`, "--yes");
  done.abort();
  assert.equal(upgraded.code, 0, upgraded.stdout + upgraded.stderr);
  t.diagnostic(`the API server was away for at most ${(await silence).toFixed(0)} s`);
  const image = "{.items[0].spec.containers[0].image}";
  const api = ["get", "pods", "-nkube-system", "-lcomponent=kube-apiserver", `-ojsonpath=${image}`];
  assert.match(await machine.kubectl(...api), new RegExp(`:${LATEST}$`));
  await answered(machine, "client");
  assert.equal(await restarts(machine, "app=web"), before);
});

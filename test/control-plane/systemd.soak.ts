// A cluster's node on a machine with systemd: a service of kubeadm's name keeps it running, and starts it after a reboot.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeBox } from "../cli/node-box.ts";
import { type ClusterMachine, clusterMachine, controlPlaneObstacle } from "./machine.ts";
import { restarts } from "./silence.ts";
import { answered, serveWeb, startClient } from "./web.ts";

const skip = controlPlaneObstacle();
const WAIT_MS = 120_000;
const UNITS_OF_PACKAGES = "/usr/local/lib/systemd/system";
/** A unit as the package of a kubelet brings it, and kubeadm's drop-in, which names another program. */
const PACKAGED =
  "[Service]\nExecStart=/bin/false\nRestart=always\n[Install]\nWantedBy=multi-user.target\n";
const OF_KUBEADM = "[Service]\nExecStart=\nExecStart=/bin/sleep 100000\n";

async function property(machine: ClusterMachine, name: string): Promise<string> {
  const argv = ["systemctl", "show", "kubelet.service", "--value", `--property=${name}`];
  return (await machine.node.box.run(argv)).trim();
}

/** What is left, but for notes of systemd itself about how it shows jobs that take long. */
async function left(node: NodeBox, before: readonly string[]): Promise<readonly string[]> {
  const found = await node.changesSince(before);
  return found.filter((line) => !line.endsWith(" /run/systemd/show-status"));
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`not within two minutes: ${what}`);
    await sleep(200);
  }
}

const answers = (machine: ClusterMachine) => async (): Promise<boolean> =>
  (await machine.nodelet(["get", "node"])).code === 0;

test("the service starts the node after a reboot, and again when it is killed", {
  skip,
}, async (t) => {
  await using machine = await clusterMachine({ hostname: "one" }, [], "systemd");
  const { node } = machine;
  const { box } = node;
  const before = await node.picture();
  const up = await machine.up();
  assert.equal(up.code, 0, up.stdout + up.stderr);
  assert.match(up.stdout, /^ {2}systemctl status kubelet +its service, which also starts it/m);
  assert.equal(await property(machine, "ActiveState"), "active");
  assert.equal(await property(machine, "UnitFileState"), "enabled");
  const shown = await machine.nodelet(["service", "status"]);
  assert.match(shown.stdout, /^installed: .*\/kubelet\.service\nstate: active \(running\)/);
  const second = await machine.nodelet(["service", "install", "--kubeadm"]);
  assert.match(second.stderr, /runs nodelet on this node already/);
  await serveWeb(machine, 2);
  await startClient(machine, "client");
  await answered(machine, "client");
  const calm = await restarts(machine, "app=web");

  const killed = await property(machine, "MainPID");
  await box.run(["kill", "-9", killed]);
  await until("another supervisor", async () => {
    const pid = await property(machine, "MainPID");
    return pid !== "0" && pid !== killed;
  });
  // As kubeadm does.
  await box.run(["systemctl", "restart", "kubelet"]);
  await until("the agent answers", answers(machine));
  await answered(machine, "client");
  assert.equal(await restarts(machine, "app=web"), calm);

  const stopped = await machine.nodelet(["stop"]);
  assert.equal(stopped.code, 0, stopped.stderr);
  assert.equal(await property(machine, "ActiveState"), "inactive");
  // What a reboot takes away of what runs; multi-user.target starts what is enabled.
  await box.run([
    "sh",
    "-c",
    "rm -rf /run/nodelet /run/containerd; echo 0 >/proc/sys/net/ipv4/ip_forward",
  ]);
  assert.match(
    await box.run(["ls", "/etc/systemd/system/multi-user.target.wants"]),
    /^kubelet\.service$/m,
  );
  const began = performance.now();
  await box.run(["systemctl", "start", "kubelet"]);
  await until("the API server answers", async () => {
    await machine.kubectl("get", "--raw=/readyz");
    return true;
  });
  await answered(machine, "client");
  t.diagnostic(
    `a Service answers ${((performance.now() - began) / 1000).toFixed(0)} s after the boot`,
  );

  const down = await machine.nodelet(["down"]);
  assert.equal(down.code, 0, down.stdout + down.stderr);
  assert.deepEqual(await left(node, before), []);
  assert.equal(await property(machine, "LoadState"), "not-found");
});

test("the unit of a kubelet's package starts nodelet, and the other kubelet again afterwards", {
  skip,
}, async () => {
  await using machine = await clusterMachine({ hostname: "one" }, [], "systemd");
  const { node } = machine;
  const { box } = node;
  const folder = `${UNITS_OF_PACKAGES}/kubelet.service.d`;
  await box.run(["mkdir", "-p", folder]);
  box.write(`${UNITS_OF_PACKAGES}/kubelet.service`, PACKAGED);
  box.write(`${folder}/10-kubeadm.conf`, OF_KUBEADM);
  await box.run(["systemctl", "daemon-reload"]);
  await box.run(["systemctl", "enable", "--now", "kubelet"]);
  const before = await node.picture();
  const up = await machine.up();
  assert.equal(up.code, 0, up.stdout + up.stderr);
  assert.deepEqual(await node.pids("sleep"), []);
  assert.match(await property(machine, "ExecStart"), /--supervise/);
  const down = await machine.nodelet(["down"]);
  assert.equal(down.code, 0, down.stdout + down.stderr);
  assert.deepEqual(await left(node, before), []);
  assert.equal(await property(machine, "UnitFileState"), "enabled");
  assert.match(await property(machine, "ExecStart"), /sleep 100000/);
});

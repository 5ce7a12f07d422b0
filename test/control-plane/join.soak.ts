// A second machine joins the cluster of the first with the line that kubeadm prints, and leaves it again.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { joinWire } from "../../tools/conformance/lab/wire.ts";
import { cniConfig } from "../box/containerd.ts";
import { type ClusterMachine, clusterMachine, controlPlaneObstacle } from "./machine.ts";
import { answered, serveOnEachNode, startClient, webPods } from "./web.ts";

const skip = controlPlaneObstacle();
const SECOND = "198.51.100.11";

/** What the user sees of a line that does not work, and that nothing was changed. */
async function refused(
  machine: ClusterMachine,
  words: readonly string[],
  expected: RegExp,
): Promise<void> {
  const before = await machine.node.picture();
  const { code, stdout, stderr } = await machine.join(...words);
  assert.notEqual(code, 0, stdout);
  assert.match(stderr, expected);
  assert.deepEqual(await machine.node.changesSince(before), []);
}

/** Where the command, the agent and kubeadm write; images are not searched. */
const WRITTEN = [
  ...["--exclude-dir=containerd", "/var/lib/nodelet", "/var/log", "/run/nodelet"],
  ...["/etc/kubernetes", "/etc/nodelet", "/var/lib/kubelet"],
];

/** Command lines of the machine's processes that have the word in them. */
function processesWith({ node }: ClusterMachine, word: string): readonly string[] {
  const folder = node.box.path("/proc");
  return readdirSync(folder)
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(join(folder, pid, "cmdline"), "utf8").replaceAll("\0", " ")];
      } catch {
        return [];
      }
    })
    .filter((line) => line.includes(word));
}

/** Gives the agent of the second machine a flag, which it keeps when nobody gives it again, as after a reboot. */
async function givesFlags(one: ClusterMachine, two: ClusterMachine): Promise<void> {
  const { code, stderr } = await two.nodelet(["join", "--", "--max-pods=50"]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /restarting the agent with other flags/);
  const pods = "--for=jsonpath={.status.capacity.pods}=50";
  await one.kubectl("wait", pods, "node/two", "--timeout=60s");
  for (const word of ["stop", "join"]) {
    const again = await two.nodelet([word]);
    assert.equal(again.code, 0, again.stderr);
  }
  await one.kubectl("wait", "--for=condition=Ready", "node/two", "--timeout=60s");
  const capacity = ["get", "node", "two", "-ojsonpath={.status.capacity.pods}"];
  assert.equal(await one.kubectl(...capacity), "50");
}

test("a second machine joins, serves beside the first, and leaves", { skip }, async (t) => {
  await using one = await clusterMachine({ hostname: "one" });
  await using two = await clusterMachine({ hostname: "two", address: SECOND });
  await joinWire([one.node.box, two.node.box]);
  await refused(
    two,
    [
      ...["198.51.100.10:6443", "--token=abcdef.0123456789abcdef"],
      `--discovery-token-ca-cert-hash=sha256:${"0".repeat(64)}`,
    ],
    /the API server at 198\.51\.100\.10:6443 cannot be reached: nothing listens there/,
  );
  const up = await one.up();
  assert.equal(up.code, 0, up.stdout + up.stderr);
  const words = await one.joinWords();
  const [address = "", , token = "", , hash = ""] = words;
  const line = (changed: string, authority = hash) => [
    ...[address, "--token", changed],
    ...["--discovery-token-ca-cert-hash", authority],
  ];
  await refused(two, line("abcdef.0123456789abcdef"), /does not know the token abcdef\.…/);
  const secret = `${token.slice(0, 7)}0123456789abcdef`;
  await refused(two, line(secret), /the part of the token .* behind the dot is not the one/);
  await refused(
    two,
    line(token, `sha256:${"0".repeat(64)}`),
    /the certificate authority of the cluster is sha256:[0-9a-f]{64}, not sha256:0{64}/,
  );
  const server = two.node.box.spawn(["busybox", "nc", "-l", "-p", "10250"]);
  const listens = "until grep -q ':280A ' /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done";
  await two.node.box.run(["sh", "-c", listens]);
  await refused(two, words, /10250/);
  await server.kill("SIGKILL");

  const before = await two.node.picture();
  const began = performance.now();
  const joining = two.startJoin(...words);
  await joining.reported(/preflight: Running pre-flight checks/);
  assert.deepEqual(processesWith(two, token.slice(7)), [], "the list of processes has no token");
  assert.equal((await joining.process.exited).code, 0, joining.text);
  t.diagnostic(`joined after ${((performance.now() - began) / 1000).toFixed(0)} s`);
  assert.doesNotMatch(joining.text, /[a-z0-9]{6}\.[a-z0-9]{16}/);
  assert.deepEqual(processesWith(two, token.slice(7)), []);
  const { stdout: files } = await two.node.box.exec(["grep", "-rlF", token.slice(7), ...WRITTEN]);
  assert.equal(files, "", "no file has the token");

  await serveOnEachNode(one, 2);
  await startClient(one, "client-one", "one");
  await startClient(one, "client-two", "two");
  await one.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=180s");
  for (const client of ["client-one", "client-two"]) {
    await answered(one, client);
    for (const { address } of await webPods(one)) await answered(one, client, `${address}:80`);
  }
  t.diagnostic(`Service across nodes after ${((performance.now() - began) / 1000).toFixed(0)} s`);

  const again = await two.join();
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.stderr, /this machine has joined already/);

  await givesFlags(one, two);

  const bare = await two.nodelet(["leave", "--yes"]);
  assert.equal(bare.code, 1);
  assert.match(bare.stderr, /pods that nobody would start elsewhere: (?:default\/)?client-two/);
  await one.kubectl("delete", "pod", "client-two", "--now");
  const left = await two.nodelet(["leave", "--yes"]);
  assert.equal(left.code, 0, left.stdout + left.stderr);
  assert.deepEqual(await two.node.changesSince(before), []);
  assert.equal((await one.kubectl("get", "nodes", "-oname")).trim(), "node/one");

  // What a network plugin of the cluster would do, as soon as its pod runs on the node.
  const waiting = two.startJoin(...words, "--network-plugin");
  await waiting.reported(/NetworkPluginNotReady/);
  const network = cniConfig({ ipv6: false, subnet: "10.99.0.0/24", masquerade: true });
  two.node.box.write("/etc/cni/net.d/10-plugin.conflist", network);
  assert.equal((await waiting.process.exited).code, 0, waiting.text);
  await startClient(one, "client-plugin", "two");
  await one.kubectl("wait", "--for=condition=Ready", "pod/client-plugin", "--timeout=120s");
  const podIp = await one.kubectl("get", "pod", "client-plugin", "-ojsonpath={.status.podIP}");
  assert.match(podIp, /^10\.99\.0\./);
  const down = await two.nodelet(["down"]);
  assert.equal(down.code, 0, down.stdout + down.stderr);
  // Pods end while their network is still there; what the plugin has installed is its own.
  await two.node.box.run(["rm", "/etc/cni/net.d/10-plugin.conflist"]);
  await two.node.box.exec(["ip", "link", "delete", "cni0"]);
  assert.deepEqual(await two.node.changesSince(before), []);
  assert.match(await one.kubectl("get", "nodes", "-oname"), /node\/two/);
});

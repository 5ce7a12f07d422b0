// `nodelet stop` keeps what `nodelet down` removes: pods come back with their data, and down asks before it removes.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { bareMachine, type NodeBox } from "../cli/node-box.ts";
import { WAIT_FOREVER } from "../support/stay.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import { Kubectl, PROGRAMS, programOf } from "./kubectl.ts";

const program = PROGRAMS.map(programOf).findLast((path) => path !== undefined);
const skip = program === undefined ? "needs a kubectl from Debian" : false;
const PODS = Number(process.env["STOP_PODS"] ?? "8");
const SETTINGS = ["vm/overcommit_memory", "kernel/panic", "net/ipv4/ip_forward"];

/** Writes something once, prints it at each start, and says how it was ended. */
const SCRIPT =
  "[ -s /data/x ] || head -c 9 /dev/urandom | base64 >/data/x; echo has $(cat /data/x); " +
  `trap 'echo ended well >>/data/end; exit 0' TERM; ${WAIT_FOREVER}`;

const pod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    dnsPolicy: "Default",
    containers: [
      {
        name: "main",
        image: "localhost/nodelet/hello:1",
        imagePullPolicy: "Never",
        command: ["sh", "-c", SCRIPT],
        securityContext: { runAsUser: 0 },
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
    ],
    volumes: [{ name: "data", emptyDir: {} }],
  },
});

async function dataOf(kubectl: Kubectl, names: readonly string[]): Promise<readonly string[]> {
  const all: string[] = [];
  for (const name of names) all.push(await kubectl.run(["exec", name, "--", "cat", "/data/x"]));
  return all;
}

async function untilRunning(node: NodeBox, count: number): Promise<void> {
  const deadline = performance.now() + 60_000 * TIMEOUT_FACTOR;
  for (;;) {
    const { stdout } = await node.nodelet(["get", "pods", "-A"]);
    if ((stdout.match(/ 1\/1 +Running/g) ?? []).length === count) return;
    assert.ok(performance.now() < deadline, stdout);
    await sleep(200);
  }
}

test("pods that nodelet stop has stopped come back with their data", { skip }, async () => {
  await using node = await bareMachine({ storeMib: 0 });
  const kernel = () =>
    SETTINGS.map((name) => readFileSync(node.box.path(`/proc/sys/${name}`), "utf8").trim());
  await node.box.run(["sh", "-c", "echo 0 >/proc/sys/vm/overcommit_memory"]);
  const before = { picture: await node.picture(), kernel: kernel() };
  const kubectl = new Kubectl(node, program ?? "");
  await node.run("up", "--demo", "--detach", "--until-ready");
  const names = Array.from({ length: PODS }, (_, i) => `p${i}`);
  const items = names.map(pod);
  await kubectl.run(["apply", "-f", "-"], {
    stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }),
  });
  await kubectl.run(["create", "secret", "generic", "key", "--from-literal=p=q"]);
  await untilRunning(node, PODS + 1);
  const data = await dataOf(kubectl, names);
  assert.equal(new Set(data).size, PODS);

  const stopped = await node.run("stop");
  assert.match(stopped, /^ {2}default\/p0: stopped$/m);
  assert.match(stopped, new RegExp(`^Stopped, ${PODS + 1} pods\\.`, "m"));
  for (const name of ["containerd", "containerd-shim", "httpd", "nodelet"])
    assert.deepEqual(await node.pids(name), [], `${name} has ended`);
  const shown = await node.run("why", "--node");
  assert.match(shown, /stopped +Agent stopped, containers kept running: received SIGTERM\./);
  assert.match(
    shown.replaceAll(/\s+/g, " "),
    new RegExp(`nodelet stop: stopped ${PODS + 1} pods, agent`),
  );
  assert.match(await node.run("stop"), /^Stopped, 0 pods/m);

  await node.run("up", "--detach", "--until-ready");
  await untilRunning(node, PODS + 1);
  assert.match(
    await node.run("why", "--node"),
    /nodelet stop:[\s\S]* started +Agent started, version/,
  );
  assert.deepEqual(await dataOf(kubectl, names), data);
  assert.match(await kubectl.run(["exec", "p0", "--", "cat", "/data/end"]), /^ended well$/m);
  assert.match(await kubectl.run(["get", "secret", "key"]), /Opaque/);

  // On a terminal down shows what goes, and takes no for an answer.
  const asked = node.startOnTerminal("cd /run/tmp; exec nodelet down");
  await asked.reported(/Remove it\? \[y\/N, e to export the objects first\]/);
  assert.match(asked.text, new RegExp(` ${PODS + 1} pods: default/hello-\\S+, default/p0,`));
  assert.match(asked.text, new RegExp(`own API: 1 Secret, ${PODS} Pods`));
  asked.type("e\n");
  await asked.reported(/The objects are in \S+\.yaml\.[\s\S]*Remove it\?/);
  const [, file = ""] = /The objects are in (\S+\.yaml)\./.exec(asked.text) ?? [];
  assert.match(readFileSync(node.box.path(file), "utf8"), /kind: Secret\n[\s\S]*name: p0\n/);
  asked.type("\n");
  assert.equal((await asked.process.exited).code, 1);
  assert.match(asked.text, /Nothing was removed\./);
  assert.match(await node.run("get", "pods"), /p0 +1\/1 +Running/);
  await node.box.run(["rm", file]);

  const down = await node.run("down", "--yes");
  assert.match(down, /kernel setting vm\.overcommit_memory = 1 \(it is 0 again\)/);
  assert.deepEqual(await node.changesSince(before.picture), []);
  assert.deepEqual(kernel(), before.kernel);
  assert.ok(!existsSync(node.box.path("/run/nodelet/stopping")));
  assert.deepEqual(readdirSync(node.box.path("/run/nodelet")), []);
});

const STUBBORN = {
  ...pod("stubborn"),
  spec: {
    ...pod("stubborn").spec,
    terminationGracePeriodSeconds: 600,
    containers: pod("stubborn").spec.containers.map((container) => ({
      ...container,
      command: ["sh", "-c", `trap '' TERM; ${WAIT_FOREVER}`],
    })),
  },
};

const AGENT_ROOT = "/var/lib/nodelet/kubelet";
const HOLD_FOLDER = `exec 3<${AGENT_ROOT}; while pgrep -x containerd >/dev/null; do sleep 0.1; done; sleep 2`;

const BOTH_STOPPING = /(?=[\s\S]*stubborn-\S+: stopping)(?=[\s\S]*hello-\S+: gone)/;

test("an interrupted stop and down say what is left, and remove nothing else", async () => {
  await using node = await bareMachine({ storeMib: 0 });
  const before = await node.picture();
  await node.run("up", "--demo", "--detach", "--until-ready");
  node.box.write("/etc/nodelet/manifests/stubborn.yaml", JSON.stringify(STUBBORN));
  await untilRunning(node, 2);
  for (const [argv, waits, left] of [
    [["stop"], /hello-\S+: stopped/, /nodelet: not stopped:\n {2}pod default\/stubborn-/],
    [["down", "--yes"], BOTH_STOPPING, /left:\n {2}pod default\/stubborn-\S+: did not/],
  ] as const) {
    const command = node.start(argv);
    await command.reported(waits);
    for (const other of [["up", "--detach"], ["stop"], ["down", "--yes"]]) {
      const { code, stderr } = await node.nodelet(other);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`another nodelet ${argv[0]} \\(process \\d+\\) is running`));
    }
    assert.equal(await command.interrupt(), 1, command.text);
    assert.match(command.text, left);
    assert.equal((await node.pids("containerd")).length, 1, "the runtime runs");
    assert.ok(existsSync(node.box.path("/var/lib/nodelet/kubelet")));
  }
  // The agent's folder is a mount where its file system is not shared; it stays busy until a moment after the runtime has ended.
  await node.box.run(["mount", "--bind", AGENT_ROOT, AGENT_ROOT]);
  const holder = node.box.spawn(["sh", "-c", HOLD_FOLDER]);
  await node.run("down", "--yes", "--grace-period", "1", "--purge");
  assert.equal((await holder.exited).code, 0);
  assert.deepEqual(await node.changesSince(before), []);
});
